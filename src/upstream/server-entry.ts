/** A tool server, as the operator wrote it down. */
import { digest, type Hash } from '../core/index.ts'
import type { Risk } from '../tools/index.ts'

export interface ServerEntry {
  /** 1 to 32 of `A-Z a-z 0-9 _ -`. Part of the name of each of its tools. */
  readonly name: string
  /** Names of its tools that may be used. `'*'`: all that it lists. Discovery alone exposes nothing. */
  readonly expose: readonly string[] | '*'
  readonly risk: Risk
  /** Every call needs a person's approval. */
  readonly approval: boolean
  /**
   * What an answer with `isError` is. `unknown`: an error, after which nobody knows what the call did. `known`: the operator
   * vouches that this server answers so only when it knows, and then it is an answer like any other.
   */
  readonly errorAnswers: 'unknown' | 'known'
  readonly startTimeoutMs: number
  readonly callTimeoutMs: number
}

export interface StdioServer extends ServerEntry {
  readonly transport: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Names of variables that are handed on from our own environment. */
  readonly envFrom: readonly string[]
  /** A folder of the project, relative to it; null is the project itself. */
  readonly cwd: string | null
}

export interface HttpServer extends ServerEntry {
  readonly transport: 'http'
  readonly url: string
  /** Header name to the name of the variable that holds its value. */
  readonly headersEnv: Readonly<Record<string, string>>
}

export type UpstreamServer = StdioServer | HttpServer

/** What a contract depends on: an edited entry is another server. Values of variables that are handed on are not in it. */
export function entryDigest(server: UpstreamServer): Hash {
  return digest({ ...server })
}

/** The name under which a tool of a server is offered and judged. */
export function exposedName(server: string, tool: string): string {
  return `mcp__${server}__${tool}`
}
