/** The names alone, in JavaScript: what is wrong with the flags is said before anything is compiled. */
export const SCENARIOS = /** @type {const} */ ([
  'chat',
  'chats',
  'delegation',
  'delegations',
  'run',
  'tool client',
  'approval',
])
