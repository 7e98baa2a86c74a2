/**
 * The log: one JSON object a line on stderr.
 *
 * What is logged: the start and the end of the server; each HTTP request with method, route pattern, status, duration,
 * address, key id and trace id (probes at debug level); opening, refusal and end of WebSocket connections; a key file that
 * cannot be used; failures of ours with their message and stack. What is never logged: tokens, tickets, key material,
 * header values, request and reply bodies, chat content, and the path or query a client sent (only the pattern of the
 * route it met). Redaction is structural and comes before the writer, because its path wildcards reach one level only.
 */
import type { World } from '../world/index.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'
export type LogFacts = { readonly [name: string]: unknown }

export interface Log {
  write(level: Exclude<LogLevel, 'silent'>, event: string, facts?: LogFacts): void
}

export interface StderrLog extends Log, AsyncDisposable {
  /** Resolves when everything is written, or after a second: a stuck reader of stderr keeps no process. */
  flush(): Promise<void>
}

const HELD_BYTES_MAX = 1024 * 1024
const FLUSH_MS_MAX = 1000

/** Writes in the background, in order; what a stuck reader of stderr does not take is dropped, and nothing else waits. */
export async function stderrLog(level: LogLevel, world: World, fd = 2): Promise<StderrLog> {
  const { pino } = await import('pino')
  const sink = pino.destination({ fd, sync: false, maxLength: HELD_BYTES_MAX })
  const logger = pino(
    { level, base: null, timestamp: () => `,"time":"${world.clock.wall()}"`, messageKey: 'event' },
    sink,
  )
  // The sink's own `flushSync` would overtake the lines that are being written at that moment.
  let isHolding = false
  const done = (): void => {
    isHolding = false
  }
  sink.on('drain', done)
  sink.on('error', done) // stderr is gone: there is nowhere left to say so
  const flush = async (): Promise<void> => {
    if (!isHolding) return
    await new Promise<void>((resolve) => {
      const stop = (): void => {
        cancel()
        sink.off('drain', stop)
        sink.off('error', stop)
        resolve()
      }
      const cancel = world.clock.timer(FLUSH_MS_MAX, stop)
      sink.on('drain', stop)
      sink.on('error', stop)
    })
  }
  return {
    write: (at, event, facts = {}) => {
      if (!logger.isLevelEnabled(at)) return
      isHolding = true
      logger[at](redact(facts) as LogFacts, event)
    },
    flush,
    [Symbol.asyncDispose]: flush,
  }
}

const SECRET_NAME = /token|ticket|secret|passw|authorization|cookie|credential|api_?key|key_hash|private/i
const SECRET_TEXT = /\bBearer\s+\S+|\b(?:token|ticket|session|secret|api_?key)=[^&\s"']+/gi
const DEPTH_MAX = 6

/** The facts without what could open a door, at every level. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(SECRET_TEXT, '[redacted]')
  if (value instanceof Error) return redact({ message: value.message, stack: value.stack }, depth)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEPTH_MAX) return '[deeper]'
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_NAME.test(name) && member !== null ? '[redacted]' : redact(member, depth + 1),
    ]),
  )
}
