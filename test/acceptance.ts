/**
 * The acceptance list: every promise that a test must name in brackets, in our own words. A check compares this list with
 * the names of the tests, both ways.
 *
 * Ids with a letter and a number are rows of the specification; `trap:` ids are mistakes that were seen elsewhere.
 */
export const ACCEPTANCE: Readonly<Record<string, string>> = {
  // what holds around every coordinator test
  I1: 'Whenever the model or the runtime API is asked, every journal in the governed folder verifies with the pinned key.',
  I2: 'Whenever the model or the runtime API is asked, exactly one journal is still without its Terminated entry.',
  I3: 'Whenever the model is asked, the active journal begins with Started.',
  I4: 'The first entry of a delegated run names the agent that it was delegated to.',
  I5: 'The first entry of a delegated run names the inline policy that binds it.',
  I6: 'The first entry of a delegated run holds the link to its parent.',
  I7: 'Whenever a delegated run asks its model, the journal of the parent that it names verifies and is still open.',
  I8: "The link in the child's first entry says what the parent's newest intent says, member for member.",
  I9: 'The entry before the intent of a delegation is the decision of policy.',
  I10: 'When a tool takes effect, the newest entry is the durable intent of that very call.',
  I11: 'When a tool takes effect, an earlier entry says that policy judged one action and denied none.',
  I12: 'AuditOpened comes before any other answer, names the pinned key, and its path lies in the project.',
  I13: 'A server shuts down within two seconds, and soon afterwards nobody holds the state of the coordinator.',
  I14: 'Every message that is due arrives within five seconds.',

  // a connection and its turns
  'C1.1': 'A token that is empty, limited to one agent, or wrong is answered with 401 before the socket opens.',
  'C1.2': 'Each of two turns on one socket opens its audit, and ends with an answer that holds what the tool said.',
  'C1.3': 'After each turn its journal verifies as the run that the reference names.',
  'C1.4': 'Every entry of a chat journal carries the stable principal of the coordinator.',
  'C1.5': 'A finished turn ends its journal with Terminated, reason Completed.',
  'C1.6': 'Two turns are two runs.',
  'C1.7': 'A second turn asks the tool again, because results of tools are not carried into it.',
  'C1.8': 'Closing the socket releases everything that the connection held.',
  'C2.1': 'A governed folder that others may write to is answered with AUDIT_UNAVAILABLE, first of all.',
  'C2.2': 'Without safe audit storage neither the model nor a tool is asked.',
  'C3.1': 'A journal that was damaged during inference leaves the invocation unresolved, and the caller is told.',
  'C3.2': 'After the damage there is no further inference and no effect.',
  'C3.3': 'The damaged journal does not verify as its run.',
  'C4.1': 'A model that never answers does not keep the audit reference from being sent.',
  'C4.2': 'Content of more than 64 KiB is refused before its id is looked at.',
  'C4.3': 'A second message is accepted while the first is at work.',
  'C4.4': 'A third message is refused as SESSION_BUSY.',
  'C4.5': 'Closing the socket ends the active run within two seconds, with a journal that verifies.',
  'C4.6': 'Closing the socket aborts the request to the model.',
  'C4.7': 'A queued turn of a closed socket never starts.',

  // delegation
  'C5.1':
    'Each of two turns that delegate on one socket opens its audit, and ends with an answer that holds what the child found.',
  'C5.2':
    "The parent's journal verifies and names the delegation by its call and by the principal derived from the target.",
  'C5.3': "The child's journal verifies as a run of its own, and ends with Completed.",
  'C5.4': 'The parent says how the child ended, and not before the child recorded it.',
  'C5.5': 'A parent whose child completed completes.',
  'C5.6': 'Two turns delegate to two runs, and each takes effect once.',
  'C6.1': 'Closing the socket ends a parent whose child waits for its model, within two seconds.',
  'C6.2': 'The journal of a cancelled parent keeps the intent of its delegation.',
  'C6.3': 'A cancelled child records its own end, with an error.',
  'C6.4': 'The end of a cancelled child is recorded before the end of its parent.',
  'C6.5': "Cancelling a parent aborts the child's request to the model, and nothing takes effect.",
  'C7.1': 'Storage that became unsafe before a delegation ends the turn with LOOP_ERROR.',
  'C7.2': 'Then the child asks neither a model nor a tool.',
  'C7.3': "Then the parent's journal verifies and ends with an error.",
  'C8.1': "Damage to a child's journal leaves the turn unresolved.",
  'C8.2': 'After the damage neither model nor tool is asked.',
  'C8.3': "The parent's journal verifies, holds the intent, and ends with an error.",
  'C8.4': "The child's damaged journal does not verify.",
  'C9.1': 'What the inline policy of a child denied can be read in the answer, by the name of the policy.',
  'C9.2': 'A tool that the inline policy of a child denies has no effect, and both runs go on.',
  'C9.3': "The child's journal says which inline policy denied.",

  // one id, once
  'C10.1': 'A message with a chosen id is answered, and marked as not replayed.',
  'C10.2': 'The same id and content at once again is answered from the record, with the same run and text.',
  'C10.3': 'The same id with other content is a conflict.',
  'C10.4': 'After a reconnect with the same key the recorded answer can be asked for.',
  'C10.5': 'Another key that asks for the id meets a conflict.',
  'C10.6': 'Replays change no byte of the journal, and ask neither the model nor a tool.',
  'C11.1': 'Asking for an id that was never used finds nothing.',
  'C11.2': 'The nil id is refused as an invocation id.',
  'C11.3': 'Refusals leave no claim store behind.',
  'C12.1': 'A turn that is held back by its model has opened its audit.',
  'C12.2': 'A queued turn has opened its audit, too.',
  'C12.3': 'The id of a queued turn, sent again on the same socket, is in progress.',
  'C12.4': 'The id of an active turn, sent on a second socket, is in progress.',
  'C12.5': 'Once the owner is gone, both ids become unresolved under the runs they began with.',
  'C12.6': 'The journal of the turn that never started exists, and is empty.',
  'C12.7': 'None of this asked the model twice, or a tool at all.',
  'C13.1': 'The identity of the in-process session cannot be imitated by the text of a network token.',
  'C13.2': 'The in-process session answers one id twice, the second time from the record, before the call returns.',
  'C13.3': 'A network client that asks for an id of the in-process session meets a conflict.',
  'C13.4': 'Two calls with one id took effect once.',

  // journal
  J1: 'Eight runs created at once share one key and have a file each; the same run twice is refused.',
  J2: 'A journal verifies only under the run id that its records were signed with, whatever its file is called.',
  J3: 'An unsafe key file or folder lets no journal be created, and nothing is written.',
  J4: 'A journal that another process has lengthened takes no further entry, ever.',
  J5: 'After an unconfirmed outcome no effect may start, while receipts and the terminal entry are still accepted.',
  J6: 'A broken last line fails verification, and the prefix before it is told with exact byte counts.',

  // invocations
  V1: 'Of eight that claim one id at once, one becomes the owner and seven see it in progress.',
  V2: 'The journal of an invocation starts one run and refuses a second.',
  V3: 'A run that ends with an unknown effect stays unresolved, and writes no result.',
  V4: 'A claim that was damaged is unresolved or an error, and never runs.',
  V5: 'A claim that is a link, a full store and a store open to others are refused, with nothing else touched.',

  // dispatch
  D1: 'Results are matched to calls by id; a missing one is an error, and equal ids in a batch deny all of it.',
  D2: 'An intent that cannot be written prevents the effect; a receipt that cannot be written is an error after it.',
  D3: 'A call that needs approval is denied where nobody can approve, however permissive the gate.',

  // prepared calls and grants
  P1: 'An authorisation is void once arguments, principal, start, context or configuration changed, or its time is over.',
  P2: 'A grant is worth nothing to another executor.',
  P3: 'A call that policy keeps rewriting, or whose id or kind policy changes, is refused.',

  // budgets and recovery
  B1: 'Reservations made at once never exceed the allowance of any ancestor.',
  B2: 'A reservation whose record was interrupted keeps its charge as uncertain.',
  B3: 'A settlement that cannot be written discards the reply and closes the allowance; recovery charges in full.',
  R1: 'Recovery asks for reconciliation after an error or a missing receipt, and not after a good one.',
  R2: 'Evidence with entries behind the end, two starts, or a finish without its start is refused.',

  // loop
  L1: 'An unconfirmed effect ends the run after one inference and without output; a denial lets the model go on.',

  L2: 'Of two delegations in one batch, the second does not start when the first is unconfirmed, and no further inference follows.',
  // inline policies
  N1: 'An inline policy restricts as its author wrote it or is refused; a denied call meets no approver, no gate and no effect.',

  // agents and delegation
  X1: 'A declared name and the alias of its file are one target; what shares a name, is a link or cannot be used says why.',

  // traps
  'trap:cedar-erroring-forbid':
    'A policy that errors while it is evaluated denies the call and is named, a forbid included.',
  'trap:cedar-deep-policy':
    'Policy text nested too deeply is refused before it reaches the engine, which decides as before.',
  'trap:cedar-engine-throws': 'Whatever the engine throws is a denial, and a fresh engine decides the next call.',
  'trap:cedar-wasm-inlining':
    'Thousands of decisions in a child process that deoptimises all the time do not take the process down.',
  'trap:cedar-policy-set-pool':
    'Policies that are replaced again and again stay within a fixed set of ids in the engine.',
  'trap:cedar-entity-escape': 'An argument cannot pass for an entity or an extension value inside the engine.',
  'trap:cedar-number-range': 'Integers beyond 2^53-1 are refused with their path; a fraction never makes policy guess.',
  'trap:cedar-access-without-has':
    'policy check warns of a condition that reads an argument without asking whether it is there.',
  'trap:json-equal-names': 'Equal names and __proto__ are refused at the doors, so what is judged is what is executed.',
  'trap:ed25519-weak-points': 'Keys and signatures on small-order or non-canonical points are refused.',
  'trap:short-write': 'A write that took fewer bytes is continued or fails; it is never taken for a whole one.',
  'trap:failed-sync': 'After a sync that failed nothing more is acknowledged, and the file is kept.',
  'trap:lost-tail': 'A chain whose last records are gone does not pass for a finished run.',
  'trap:torn-line': 'A half line that a crash left is never glued to a later append.',
  'trap:provider-cut-stream': 'A stream that was cut, or ends without a finish, proposes nothing.',
  'trap:provider-raw-arguments':
    'Arguments are read from the raw text, strictly: nothing is repaired, rounded or dropped.',
  'trap:provider-call-ids': 'A call id that is missing, empty or used twice proposes nothing; none is invented.',
  'trap:provider-usage-unknown':
    'A provider that reports no usage is charged in full, and the message says what to set.',
  'trap:rate-limit-table': 'The limiter covers upgrades, and refuses new addresses when its table is full.',
  'trap:empty-id': 'An id that is empty, blank, nil, too long or ill-formed is refused, and never taken for no id.',
  'trap:approval-from-client': 'Nothing that a client or a model sends is ever an approval.',
  'trap:budget-zero': 'Nothing left means nothing left, and an amount that is not finite is refused.',
  'trap:timer-overflow': 'A timer longer than 2^31-1 ms does not fire at once.',
  'trap:request-close-event': 'A request whose body was read is not taken for a client that left.',
  'trap:slow-reader': 'A client that does not read is closed once its buffer is full, and the others notice nothing.',
}
