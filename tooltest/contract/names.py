"""The contract's checks: each has a name, and says in a sentence what holds."""

from __future__ import annotations

ACCEPTED = "accepted"
HISTORY_ACCEPTED = "history-accepted"
OWN_CALL_ACCEPTED = "own-call-accepted"
WELL_FORMED = "well-formed"
CALL_IN_CONTENT = "call-in-content"
CALL_IN_REASONING = "call-in-reasoning"
MARKS_IN_VALUES = "marks-in-values"
ARGUMENTS_TEXT = "arguments-text"
ARGUMENTS_SCHEMA = "arguments-schema"
EMPTY_ARGUMENTS = "empty-arguments"
PAYLOAD = "payload"
TOOL_KNOWN = "tool-known"
IDS = "ids"
STREAM_INDEXES = "stream-indexes"
FINISH = "finish"
CHOICE = "choice"
PROMPT_WHOLE = "prompt-whole"
AGREEMENT = "agreement"

CHECKS: dict[str, str] = {
    ACCEPTED: "a legal request with tools is answered with 200",
    HISTORY_ACCEPTED: "a legal history with another server's calls and ids is answered with 200",
    OWN_CALL_ACCEPTED: "the server takes its own calls back, with their results",
    WELL_FORMED: "the answer is JSON, or a stream of JSON events up to [DONE], in the API's shape",
    CALL_IN_CONTENT: "no call, and no mark of a call, a turn or a thought, is left in the content",
    CALL_IN_REASONING: "no call, and no mark of one, is left in the reasoning",
    MARKS_IN_VALUES: "no such mark is in a tool's name or in its arguments",
    ARGUMENTS_TEXT: "arguments are a text that is one JSON object",
    ARGUMENTS_SCHEMA: "arguments fit the tool's schema, types included",
    EMPTY_ARGUMENTS: "a call without arguments has the text {}",
    PAYLOAD: "no value is damaged on its way: escapes, tags, line ends and letters arrive as they were",
    TOOL_KNOWN: "a tool that is called was offered",
    IDS: "each call has an id, and no two have the same",
    STREAM_INDEXES: "calls of a stream have indexes of their own, so that their deltas can be put together",
    FINISH: "finish_reason is tool_calls exactly where there are calls",
    CHOICE: "tool_choice and parallel_tool_calls are honoured",
    PROMPT_WHOLE: "the whole prompt was read: no fewer tokens than words",
    AGREEMENT: "streamed and whole answers call equally often where the requests are the same",
}
