/**
 * Every code a person or a program can meet, with its HTTP status, its exit code and one public sentence.
 * `docs/errors.md` is generated from this table, so a code that is not here does not exist.
 */
export interface CodeRow {
  readonly http: number
  readonly exit: number
  /** Public: shown by doors in place of a message that could name a path or a value. */
  readonly says: string
  /** How the code is spelled over HTTP, where clients know another spelling: they also know the sentence. */
  readonly wire?: string
}

const row = (http: number, exit: number, says: string, wire?: string): CodeRow =>
  wire === undefined ? { http, exit, says } : { http, exit, says, wire }

export const CODES = {
  // input at a door
  INVALID_JSON: row(400, 65, 'The text is not strict JSON'),
  INVALID_REQUEST: row(422, 65, 'The request does not have the expected shape'),
  INVALID_PATH: row(400, 65, 'A value in the path is malformed'),
  PAYLOAD_TOO_LARGE: row(413, 65, 'The body is larger than this route accepts'),
  UNSUPPORTED_MEDIA_TYPE: row(415, 65, 'The body must be application/json'),
  NOT_FOUND: row(404, 1, 'There is no such route or object'),
  METHOD_NOT_ALLOWED: row(405, 1, 'The route does not offer this method'),
  RATE_LIMITED: row(429, 75, 'Too many requests from this address'),
  UNKNOWN_ADDRESS: row(400, 1, 'The address of the client cannot be determined'),
  INVALID_HTTP: row(400, 65, 'The bytes on the connection are not a well-formed HTTP request'),
  HEADERS_TOO_LARGE: row(431, 65, 'The header of the request is larger than this server accepts'),
  REQUEST_TIMEOUT: row(408, 75, 'The request did not arrive in time'),
  UPGRADE_REQUIRED: row(426, 64, 'The route speaks WebSocket only'),
  OVERLOADED: row(503, 75, 'Too much work of this kind is waiting, and nothing of it was begun'),
  ORIGIN_REFUSED: row(403, 77, 'The page that asked is not on the list of allowed origins'),
  USAGE: row(400, 64, 'The command line is not understood'),
  INTERNAL: row(500, 70, 'The runtime broke one of its own promises and stopped the work'),

  // access
  UNAUTHORIZED: row(401, 77, 'A valid credential is required'),
  ADMIN_REQUIRED: row(403, 77, 'Scoped API keys may not access this endpoint'),
  AGENT_SCOPE_DENIED: row(403, 77, 'API key is not scoped to this agent'),
  KEY_FILE_UNSAFE: row(500, 78, 'The API key file is not safe to use'),
  KEY_FILE_INVALID: row(500, 78, 'The API key file cannot be understood'),
  KEY_EXISTS: row(409, 1, 'A key with this id exists'),
  KEY_NOT_FOUND: row(404, 1, 'No key has this id'),
  PUBLIC_BIND_REFUSED: row(500, 78, 'A public address needs at least one credential'),

  // chat
  PARSE_ERROR: row(400, 65, 'The frame is not a known chat message'),
  MESSAGE_TOO_LARGE: row(413, 65, 'The content of the message is too large'),
  INVALID_INVOCATION_ID: row(400, 65, 'The id must be a UUID of 36 characters that is not nil'),
  INVOCATION_NOT_FOUND: row(404, 1, 'No invocation has this id'),
  INVOCATION_CONFLICT: row(409, 1, 'The id belongs to another caller or other content'),
  INVOCATION_IN_PROGRESS: row(409, 2, 'The invocation is held by its owner'),
  INVOCATION_UNRESOLVED: row(409, 2, 'The outcome needs inspection and reconciliation'),
  INVOCATION_RECONCILED: row(409, 3, 'An operator has assessed this invocation; it never runs again'),
  SESSION_BUSY: row(409, 75, 'One message is active and one is queued'),
  SESSION_LIMIT: row(409, 1, 'The conversation is full'),
  SESSION_CLOSED: row(409, 1, 'The chat session is closed'),
  AUDIT_UNAVAILABLE: row(503, 74, 'Audit storage is unsafe, missing, busy or full'),
  LOOP_ERROR: row(422, 1, 'The run failed, and everything it did is recorded'),

  // storage
  STORAGE_UNSAFE: row(503, 74, 'A file or folder is not private to this user'),
  STORAGE_FULL: row(503, 74, 'The disk is full'),
  FILE_TOO_LARGE: row(413, 65, 'A file is larger than its kind may be'),
  STORAGE_FAILED: row(503, 74, 'The disk refused a read or a write'),
  STORAGE_BUSY: row(503, 75, 'Another holder keeps the lock'),
  PLATFORM_UNSUPPORTED: row(503, 69, 'This platform lacks the file guarantees that journals need'),
  KEY_INVALID: row(503, 78, 'The signing key cannot be used'),

  // journal and recovery
  JOURNAL_EXISTS: row(409, 74, 'A journal of this run exists'),
  JOURNAL_CHANGED: row(503, 74, 'Another process changed the journal'),
  JOURNAL_FAILED: row(503, 74, 'The journal refuses further entries after a failure'),
  JOURNAL_LIMIT: row(503, 74, 'The entry or the journal would exceed its size limit'),
  JOURNAL_REFUSED: row(409, 1, 'The entry may not be written at this point of the run'),
  RECONCILIATION_REQUIRED: row(409, 2, 'An earlier effect is unconfirmed; reconciliation is required first'),
  EVIDENCE_INVALID: row(422, 1, 'The evidence does not verify'),
  EVIDENCE_CHANGING: row(409, 75, 'The evidence changed while it was read'),

  // invocations
  CLAIM_INVALID: row(422, 1, 'The claim cannot be understood; it is kept and never executed again'),
  EVIDENCE_LOST: row(409, 1, 'The claim is gone but its reconciliation exists'),
  REVIEW_INVALID: row(400, 65, 'The review cannot be used'),
  REVIEW_STALE: row(409, 1, 'The evidence changed since the review was written'),
  REVIEW_DIFFERENT: row(409, 1, 'A different review is already recorded'),
  ALREADY_RECORDED: row(409, 1, 'The invocation has a recorded result'),
  OWNER_ALIVE: row(409, 1, 'The owner of the invocation is still at work'),

  // policy
  POLICY_INVALID: row(500, 78, 'A policy cannot be understood'),
  POLICY_UNREADABLE: row(500, 78, 'The policy folder cannot be read'),
  POLICY_ENGINE: row(500, 70, 'The policy engine failed'),
  SURFACE_UNKNOWN: row(409, 1, 'It is not known which surface a run belonged to'),

  // approvals
  APPROVAL_NOT_FOUND: row(404, 1, 'Held action not found', 'not_found'),
  APPROVAL_RESOLVED: row(409, 1, 'Held action already resolved', 'already_resolved'),
  APPROVAL_EXPIRED: row(410, 1, 'Held action expired', 'expired'),

  // agents
  SOURCE_INVALID: row(422, 65, 'The source of an agent cannot be used'),
  AGENT_UNKNOWN: row(404, 1, 'The project has no agent of this name'),
  AGENT_AMBIGUOUS: row(409, 1, 'It is not clear which agent is meant'),
  AGENT_UNAVAILABLE: row(409, 1, 'The agent exists and cannot be used'),
  REGISTRY_LIMIT: row(500, 78, 'The folder of agents exceeds a limit'),

  // tool sessions
  TOOL_SESSION_CLOSED: row(409, 1, 'The tool session takes no more calls'),
  TOOL_SESSION_EXPIRED: row(409, 1, 'The time of the tool session is over'),
  TOOL_SESSION_SPENT: row(409, 1, 'The tool session has used up its calls'),
  TOOL_SESSION_CHANGED: row(409, 1, 'The tools changed while the session was open'),
  TOOL_SESSION_FAILED: row(500, 1, 'The tool session did not end cleanly'),
  CALL_ID_USED: row(409, 1, 'The id of the call was used before in this session'),
  CALL_UNCONFIRMED: row(409, 2, 'Whether the call took effect is not known'),
  HOST_ACTION_REFUSED: row(409, 1, 'The action of the host was not admitted to the session'),

  // broker
  APPROVAL_PENDING: row(409, 75, 'A person has to approve the call before it can run'),
  TOOL_UNKNOWN: row(404, 1, 'The session has no tool of this name'),
  POLICY_DENIED: row(403, 77, 'Policy does not allow the call'),
  APPROVAL_UNKNOWN: row(404, 1, 'The session has no held call of this id'),

  // calls, budget, loop, providers
  CALL_INVALID: row(422, 65, 'The proposed call is not valid'),
  CALL_NOT_DONE: row(422, 1, 'The tool knows that it did not do what was asked'),
  GRANT_REFUSED: row(409, 1, 'The grant no longer fits the run or the executor'),
  BUDGET_REFUSED: row(409, 1, 'The token allowance does not cover the request'),
  BUDGET_CLOSED: row(409, 1, 'The token allowance is closed'),
  RUN_CANCELLED: row(409, 130, 'The execution was cancelled'),
  RUN_TIMEOUT: row(408, 1, 'The run reached its time limit'),
  CONFIG_INVALID: row(500, 78, 'The configuration cannot be used'),
  PROVIDER_ERROR: row(502, 1, 'The model provider failed'),
  PROVIDER_RATE_LIMITED: row(502, 75, 'The model provider asks to slow down'),
  PROVIDER_CONTEXT_OVERFLOW: row(502, 1, 'The conversation is too long for the model'),
  PROVIDER_MODEL_UNAVAILABLE: row(502, 1, 'The model is not available'),
  PROVIDER_INVALID_REQUEST: row(502, 1, 'The model provider refused the request'),
  PROVIDER_TIMEOUT: row(504, 1, 'The model provider did not answer in time'),
  PROVIDER_PARSE_ERROR: row(502, 1, 'The reply of the model proposes nothing that can be used'),

  // ready-made tools
  FILE_NOT_FOUND: row(404, 1, 'There is no such file or folder below the root'),
  FILE_REFUSED: row(403, 77, 'The file tools do not open this'),
  ADDRESS_REFUSED: row(403, 77, 'The name leads to an address that may not be reached from here'),

  // tool servers
  PROCESS_FAILED: row(500, 71, 'A program cannot be started'),
  UPSTREAM_UNAVAILABLE: row(503, 69, 'A tool server cannot be used, and nothing was sent to it'),
  UPSTREAM_CHANGED: row(409, 1, 'A tool of a tool server is not the one that was pinned'),
  UPSTREAM_FAILED: row(502, 1, 'A tool server broke the protocol or left; what the call did is unknown'),

  // runtime API and server
  NOT_CONFIGURED: row(503, 69, 'This runtime is not configured to do that'),
  AGENT_NOT_FOUND: row(404, 1, 'No agent has this id'),
  LIST_AGENTS_FAILED: row(500, 1, 'The agents cannot be listed'),
  LIST_SCHEDULES_FAILED: row(500, 1, 'The schedules cannot be listed'),
  SCHEDULER_HEALTH_FAILED: row(500, 1, 'The scheduler health cannot be read'),
  STATUS_AGENTS_FAILED: row(500, 1, 'The agents cannot be counted'),
  STATUS_SCHEDULES_FAILED: row(500, 1, 'The schedules cannot be counted'),
  STATUS_CHANNELS_FAILED: row(500, 1, 'The channels cannot be counted'),
  METRICS_FAILED: row(500, 1, 'The metrics cannot be read'),
  PROJECT_HELD: row(409, 75, 'Another server holds this project'),
  PORT_IN_USE: row(503, 75, 'The address is in use'),
  SHUTTING_DOWN: row(503, 75, 'The server is shutting down and takes no new work'),
  PROJECT_EXISTS: row(409, 1, 'The project exists'),
  PROJECT_MISSING: row(404, 66, 'There is no project here'),
  CONNECTION_LOST: row(503, 75, 'The server cannot be reached'),
} as const satisfies Record<string, CodeRow>

export type Code = keyof typeof CODES
