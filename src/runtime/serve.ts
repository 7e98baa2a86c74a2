/**
 * A runtime behind a port: the project's lock, its API keys, and the server with the chat door. Closing goes the other
 * way round: the server drains and cancels, the runtime's runs record their ends, and the project is free last.
 */
import { ApiKeys } from '../access/index.ts'
import { VERSION } from '../core/index.ts'
import { type Log, type RunningServer, type ServerOptions, startServer } from '../server/index.ts'
import { mcpMount } from './mcp-mount.ts'
import { lockProject } from './project-lock.ts'
import type { Runtime } from './runtime.ts'

export type ServeOptions = Omit<ServerOptions, 'api' | 'approvals' | 'keys' | 'chats' | 'version'> & {
  readonly log: Log
  /** Default: the project's `.symbiont/api-keys.json`. */
  readonly keyFile?: string
  /** One admin token, in force only while the key file holds no records. */
  readonly legacyToken?: string
  readonly refuseLegacyToken?: boolean
  readonly rejectLegacyKeys?: boolean
  readonly production?: boolean
}

export interface Service extends AsyncDisposable {
  readonly server: RunningServer
  /** Refuses new work, drains for at most `drainMs` (default 10,000), cancels the rest, and frees the project. Idempotent. */
  close(options?: { readonly drainMs?: number }): Promise<void>
  /** Cancels now: for the second signal. */
  cancelNow(): Promise<void>
}

/** Serves the runtime. Throws `PROJECT_HELD`, `PORT_IN_USE`, `PUBLIC_BIND_REFUSED` or `KEY_FILE_*` and holds nothing then. */
export async function serve(runtime: Runtime, options: ServeOptions): Promise<Service> {
  const { world, project } = runtime
  const lock = await lockProject(world, project)
  try {
    const keys = await ApiKeys.open(
      {
        keyFile: options.keyFile ?? project.keyFile,
        legacyToken: options.legacyToken ?? null,
        refuseLegacyToken: options.refuseLegacyToken ?? false,
        rejectLegacyKeys: options.rejectLegacyKeys ?? false,
        production: options.production ?? false,
      },
      world,
      (fault) =>
        options.log.write('error', 'the changed key file cannot be used', { code: fault.code, message: fault.message }),
    )
    const server = await startServer(
      {
        ...options,
        api: runtime.api,
        approvals: runtime.approvals,
        keys,
        chats: runtime.coordinator,
        version: VERSION,
        mounts: [mcpMount(runtime, options.log), ...(options.mounts ?? [])],
      },
      world,
    )
    try {
      await lock.announce(server.url)
    } catch (error) {
      await server.cancelNow() // or it would go on serving a project that is free for others
      throw error
    }
    return service(runtime, server, () => lock.release())
  } catch (error) {
    await lock.release()
    throw error
  }
}

function service(runtime: Runtime, server: RunningServer, free: () => Promise<void>): Service {
  let closed: Promise<void> | null = null
  const close = (options?: { readonly drainMs?: number }): Promise<void> => {
    closed ??= (async () => {
      try {
        await server.close(options)
        await runtime.close()
      } finally {
        await free()
      }
    })()
    return closed
  }
  return {
    server,
    close,
    cancelNow: async () => {
      await server.cancelNow()
      await close({ drainMs: 0 })
    },
    [Symbol.asyncDispose]: () => close(),
  }
}
