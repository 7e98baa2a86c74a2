/** What a tool server may cost us. Everything that it sends is bounded before it is looked at. */

/** One JSON-RPC message, either way. */
export const FRAME_BYTES_MAX = 1024 * 1024
/** What a server may send from one call to the next: notifications and noise would else have no end. */
export const UNASKED_BYTES_MAX = 16 * 1024 * 1024
/** In so many messages at most: a small one costs as much work as one of a kilobyte. */
export const UNASKED_MESSAGES_MAX = 20_000
/** Questions of a server that we have not answered yet. Each holds something of ours until it took our answer. */
export const ASKED_OF_US_MAX = 64
export const TOOLS_MAX = 256
export const SCHEMA_BYTES_MAX = 64 * 1024
export const DESCRIPTION_BYTES_MAX = 16 * 1024
/** All definitions of one server together. */
export const DEFINITIONS_BYTES_MAX = 1024 * 1024
/**
 * What is kept of the text of an answer. With what is said around it, it fits into the 256 KiB that a tool client is shown: cut
 * a second time, an answer would lose the notice of the first cut.
 */
export const RESULT_BYTES_MAX = 255 * 1024
/** Levels of JSON in a message. */
export const DEPTH_MAX = 64
export const STDERR_LINE_MAX = 1024
export const STDERR_LINES_MAX = 200
/** How long a child has to leave after it was asked to. */
export const GRACE_MS = 2000
/** How soon a list of tools that changes again is read again without a call. */
export const LOOK_EVERY_MS = 1000
/** After a failure the first wait before a server is tried again; doubled at each further one. */
export const BACKOFF_MS = 250
export const BACKOFF_MS_MAX = 30_000
