/**
 * A whole runtime behind a port, as `symbi up` puts it together: a real project with real policy files, its signing key,
 * an API key, and the chat door. Evidence is verified with the key as it lies on disk, never with the one a reply names.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { newId, type RunId } from '../../src/core/index.ts'
import type { AuditReference, Entry, EventKind } from '../../src/events/index.ts'
import { verify, verifyRun } from '../../src/journal/index.ts'
import { type PublicKey, signingKeyOf } from '../../src/keys/index.ts'
import { addKey, openRuntime, type Runtime, type RuntimeOptions, type Service, serve } from '../../src/runtime/index.ts'
import { type TemporaryProject, temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { ChatClient } from './coordinator-fixture.ts'

type Options = Omit<RuntimeOptions, 'project'> & {
  /** Its owner removes it. Default: one of its own. */
  readonly project?: TemporaryProject
  /** Cedar text by file name, beside the policy of a fresh project. */
  readonly policies?: Readonly<Record<string, string>>
  readonly serve?: Partial<Parameters<typeof serve>[1]>
  /** False: one admin token without a key file, which spares the hash. Default true. */
  readonly withKey?: boolean
}

export interface Served extends AsyncDisposable {
  readonly project: TemporaryProject
  readonly runtime: Runtime
  readonly service: Service
  /** What the runtime reported where no caller could be told. */
  readonly reports: readonly string[]
  connect(): Promise<ChatClient>
  /** The key of the project as it lies on disk. */
  key(): PublicKey
  entries(audit: AuditReference): Promise<readonly Entry[]>
  kinds(audit: AuditReference): Promise<readonly EventKind[]>
  /** Ends server and runtime, and checks that nobody holds anything and every journal verifies. */
  finish(): Promise<void>
}

export async function served(options: Options): Promise<Served> {
  const { policies = {}, serve: serveOptions = {}, withKey = true, ...rest } = options
  const project = options.project ?? temporaryProject()
  for (const [name, text] of Object.entries(policies)) project.policy(name, text)
  const reports: string[] = []
  const report = (what: string, error: unknown): void => void reports.push(`${what}: ${String(error)}`)
  const world = options.world ?? nodeWorld()
  const runtime = await openRuntime({ report, ...rest, world, project: project.path })
  const token = withKey ? await tokenFor(runtime) : 'legacy-token'
  const log = { write: () => undefined }
  const service = await serve(runtime, {
    log,
    port: 0,
    rateLimit: null,
    ...(withKey ? {} : { legacyToken: token }),
    ...serveOptions,
  })
  const governed = join(project.path, '.symbiont', 'governed')
  const key = (): PublicKey => signingKeyOf(readFileSync(join(governed, 'audit-signing.key'))).publicKey
  const entries = (audit: AuditReference): Promise<readonly Entry[]> => {
    expect(audit.path.startsWith(governed)).toBe(true)
    expect(audit.public_key).toBe(key().hex)
    return verifyRun(nodeWorld(), audit.path, key(), audit.run_id as RunId)
  }
  let finished = false
  const finish = async (): Promise<void> => {
    if (finished) return
    finished = true
    await service.close({ drainMs: 0 })
    expect(runtime.coordinator.holders).toBe(0)
    for (const name of existingJournals(governed)) await verify(nodeWorld(), join(governed, name), key())
    if (options.project === undefined) project[Symbol.dispose]()
  }
  return {
    project,
    runtime,
    service,
    reports,
    connect: () => ChatClient.open(`${service.server.chatUrl}?token=${encodeURIComponent(token)}`),
    key,
    entries,
    kinds: async (audit) => (await entries(audit)).map(({ event }) => event.kind),
    finish,
    [Symbol.asyncDispose]: async () => {
      await service.cancelNow()
      if (options.project === undefined) project[Symbol.dispose]()
    },
  }
}

export function existingJournals(governed: string): readonly string[] {
  try {
    return readdirSync(governed).filter((name) => name.endsWith('.jsonl'))
  } catch {
    return []
  }
}

async function tokenFor({ project, world }: Runtime): Promise<string> {
  const key = { keyId: `test-${newId('run', world.random).slice(0, 8)}`, agents: null, description: 'a test' }
  return (await addKey(project.keyFile, key, nodeWorld(), new AbortController().signal)).token
}
