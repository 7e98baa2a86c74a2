/** What an operator should hear of tool servers. Texts from a server are escaped and cut. */
export type UpstreamNews =
  /** Trust on first use: from now on these definitions are the ones that count. */
  | { readonly kind: 'Pinned'; readonly server: string; readonly tools: readonly string[] }
  | { readonly kind: 'Unavailable'; readonly server: string; readonly tool: string | null; readonly reason: string }
  /** A connection broke. The server is tried again at a later call. */
  | { readonly kind: 'Lost'; readonly server: string; readonly reason: string }
  /** A line that a child wrote to stderr. */
  | { readonly kind: 'Said'; readonly server: string; readonly line: string }
