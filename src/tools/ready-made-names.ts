/** The names of the ready-made tools, for whoever asks what a tool may be called before anything is configured. */
export const READY_MADE_NAMES = ['read_file', 'list_files', 'search_files', 'http_request'] as const
