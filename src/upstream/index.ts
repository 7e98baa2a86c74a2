export { MCP_CONFIG_FILE, mergeServers, readUpstreamConfig } from './config.ts'
export { configuredServers } from './configured.ts'
export { inspectServer, type ServerState, type ToolState } from './inspect.ts'
export type { Definition } from './listing.ts'
export type { UpstreamNews } from './news.ts'
export { pinnedTools } from './pinned-tools.ts'
export { PIN_FILE, readPins, type ServerPins, writePins } from './pins.ts'
export {
  exposedName,
  type HttpServer,
  type ServerEntry,
  type StdioServer,
  type UpstreamServer,
} from './server-entry.ts'
export { type UpstreamParts, Upstreams } from './upstreams.ts'
