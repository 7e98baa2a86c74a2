/**
 * The coordinator fixture of the acceptance list (14.1): a real server on a real socket over real files, with a model and a
 * runtime API that check the journals from outside at every inference and every effect (I1 to I11). Evidence is verified
 * with a key that is pinned here and never read from a reply.
 */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashSync } from '@node-rs/argon2'
import { expect } from 'vitest'
import WebSocket from 'ws'
import { ApiKeys } from '../../src/access/index.ts'
import { type RuntimeApi, unconfiguredApi } from '../../src/api/index.ts'
import type { Toolbox } from '../../src/calls/index.ts'
import { Coordinator, type SdkSession, type ServerMessage, systemPrompt } from '../../src/coordinator/index.ts'
import { derivedId, newId, type RunId } from '../../src/core/index.ts'
import { buildRegistry, type Delegation, openDelegation } from '../../src/delegation/index.ts'
import { type AuditReference, DEFAULT_LOOP_CONFIG, type Entry } from '../../src/events/index.ts'
import { countActivity } from '../../src/fleet/index.ts'
import { fileClaims } from '../../src/invocations/index.ts'
import { verify, verifyRun } from '../../src/journal/index.ts'
import { signingKeyOf } from '../../src/keys/index.ts'
import { cedarGate } from '../../src/policy/index.ts'
import type { Conversation, InferenceResponse, Provider } from '../../src/providers/index.ts'
import { COORDINATOR_LIMITS } from '../../src/runtime/index.ts'
import { type RunningServer, startServer } from '../../src/server/index.ts'
import { monitoringTools, toolbox } from '../../src/tools/index.ts'
import { nodeWorld } from '../../src/world/index.ts'

export type Mode =
  | 'Normal'
  | 'DamageJournal'
  | 'Stall'
  | 'Delegate'
  | 'DelegateStall'
  | 'DelegateUnsafeStorage'
  | 'DelegateDamageJournal'
  | 'DelegateInlineDenied'

const NAMESPACE = '9f1a4b2c-7d3e-4f50-8a6b-1c2d3e4f5061'
/** The principal of `reviewer`, derived here and not by the code under test. */
export const REVIEWER = derivedId('agent', NAMESPACE, 'reviewer')

const SEED = Buffer.alloc(32, 31)
const KEY = signingKeyOf(SEED).publicKey
const SECRET = 'test-only-secret'
const SECRET_HASH = hashSync(SECRET)
export const CHAT_TEXT = 'Inspect system health'

/** Everything that must arrive arrives within this time [I14]. */
const ARRIVES_MS = 5000

export class Fixture implements AsyncDisposable {
  readonly world = nodeWorld()
  readonly root: string
  readonly mode: Mode
  readonly counts = { inference: 0, api: 0, aborted: 0 }
  readonly delegates: boolean
  /** What the model and the API found wrong: a check that throws inside them would look like an ordinary failure. */
  readonly objections: unknown[] = []
  coordinator!: Coordinator
  server!: RunningServer
  #entered: (() => void)[] = []
  #finished = false

  private constructor(mode: Mode) {
    this.mode = mode
    this.delegates = mode.startsWith('Delegate')
    this.root = mkdtempSync(join(tmpdir(), 'symbi-fixture-'))
    chmodSync(this.root, 0o700)
  }

  static async start(mode: Mode, { unsafeStorage = false } = {}): Promise<Fixture> {
    const fixture = new Fixture(mode)
    await fixture.#open(unsafeStorage)
    return fixture
  }

  get governed(): string {
    return join(this.root, '.symbiont', 'governed')
  }

  get invocations(): string {
    return join(this.root, '.symbiont', 'invocations')
  }

  async #open(unsafeStorage: boolean): Promise<void> {
    const { world } = this
    mkdirSync(this.governed, { recursive: true, mode: 0o700 })
    writeFileSync(join(this.governed, 'audit-signing.key'), SEED, { mode: 0o600 })
    chmodSync(this.governed, unsafeStorage ? 0o777 : 0o700)
    const keyFile = join(this.root, 'api-keys.json')
    const record = {
      key_hash: SECRET_HASH,
      agent_scope: null,
      description: 'fixture',
      created_at: '2026-01-01',
      revoked: false,
    }
    const records = [
      { ...record, key_id: 'fixture' },
      { ...record, key_id: 'other' },
      { ...record, key_id: 'scoped', agent_scope: [newId('agent', world.random)] },
    ]
    writeFileSync(keyFile, JSON.stringify(records), { mode: 0o600 })
    const settings = {
      keyFile,
      legacyToken: null,
      refuseLegacyToken: false,
      rejectLegacyKeys: false,
      production: false,
    }
    const keys = await ApiKeys.open(settings, world, (fault) => this.objections.push(fault))
    const api = this.#api()
    const monitoring = toolbox({ tools: monitoringTools(api) }, world)
    const delegation = this.delegates ? this.#delegation(monitoring) : null
    const box = delegation?.toolbox ?? monitoring
    const actions = ['tool_call::system_health', 'respond', ...(this.delegates ? ['delegate::reviewer'] : [])]
    const policy = {
      name: 'health',
      source: `permit(principal, action in [${actions.map((id) => `Action::"${id}"`).join(', ')}], resource);`,
      active: true,
    }
    this.coordinator = new Coordinator({
      world,
      claims: fileClaims(world, this.root),
      provider: this.#provider(),
      gate: cedarGate({ policies: [policy], default: 'deny' }),
      toolbox: box,
      delegates: delegation?.delegates ?? null,
      config: { ...DEFAULT_LOOP_CONFIG, ...COORDINATOR_LIMITS, timeout: { secs: 10, nanos: 0 } },
      principal: newId('agent', world.random),
      systemPrompt: systemPrompt(box.definitions()),
      activity: countActivity(world.clock),
      report: () => undefined,
    })
    const log = { write: () => undefined }
    this.server = await startServer({ api, keys, chats: this.coordinator, log, version: 'test', port: 0 }, world)
  }

  #delegation(box: Toolbox): Delegation {
    const denied = 'agent reviewer {\n  policy restricted { deny: "system_health" }\n}\n'
    const text = this.mode === 'DelegateInlineDenied' ? denied : 'agent reviewer {}'
    const registry = buildRegistry({ files: [{ file: 'alias.symbi', text }], unread: null })
    return openDelegation({ registry, toolbox: box, childToolbox: box, governedFolder: this.governed }, this.world)
  }

  #api(): RuntimeApi {
    return unconfiguredApi({
      getSystemHealth: async () => {
        await this.#judged(async () => {
          const entries = await this.activeJournal()
          const newest = entries.at(-1)?.event
          expect(newest).toMatchObject({
            kind: 'ToolDispatchStarted',
            tool_name: 'system_health',
            call_id: 'health-call',
          }) // I10
          expect(entries.slice(0, -1).map(({ event }) => event)).toContainEqual(
            expect.objectContaining({ kind: 'PolicyEvaluated', action_count: 1, denied_count: 0 }),
          ) // I11
        })
        this.counts.api += 1
        return { status: 'fixture-healthy' } as never
      },
    })
  }

  #provider(): Provider {
    return {
      name: 'local-fixture',
      defaultModel: 'local-fixture',
      countInput: () => null,
      complete: async (conversation, _options, signal) => {
        this.counts.inference += 1
        const entries = await this.#judged(() => this.activeJournal()) // I1, I2
        await this.#judged(async () => expect(entries?.[0]?.event.kind).toBe('Started')) // I3
        const isChild = conversation.messages[0]?.content.startsWith("You are agent 'reviewer'.") === true
        if (isChild) await this.#judged(() => this.#checkLink(entries?.[0]?.event)) // I4 to I9
        if (this.mode === 'Stall' || (this.mode === 'DelegateStall' && isChild)) {
          signal.addEventListener('abort', () => {
            this.counts.aborted += 1
          })
          for (const enter of this.#entered.splice(0)) enter()
          await new Promise(() => undefined)
        }
        if (this.mode === 'DamageJournal' || (this.mode === 'DelegateDamageJournal' && isChild))
          appendFileSync(this.#activePath(), 'injected-storage-fault')
        if (this.mode === 'DelegateUnsafeStorage' && !isChild) chmodSync(this.governed, 0o777)
        return replyTo(conversation, this.delegates && !isChild)
      },
    }
  }

  #active = ''
  #activePath(): string {
    return this.#active
  }

  /** What a child's first entry says, and what its parent's journal says of it, seen from outside. */
  async #checkLink(started: Entry['event'] | undefined): Promise<void> {
    const context = started?.kind === 'Started' ? started.execution_context : undefined
    expect(context).toMatchObject({
      agent_definition: { name: 'reviewer' }, // I4
      source_policy: { agent_name: 'reviewer' }, // I5
      delegation: { target: 'reviewer' }, // I6
    })
    const link = context?.delegation as Record<string, unknown>
    const parents = readdirSync(this.governed).filter((name) => name.startsWith(`${link.parent_agent_id}.`))
    const journals = await Promise.all(parents.map((name) => verify(this.world, join(this.governed, name), KEY)))
    const active = journals.find((entries) => entries.at(-1)?.event.kind !== 'Terminated') // I7
    const at = active?.findLastIndex(({ event }) => event.kind === 'DelegationStarted') ?? -1
    const { kind, ...intent } = active?.[at]?.event ?? { kind: null }
    expect(kind).toBe('DelegationStarted')
    expect(link).toMatchObject(intent) // I8
    expect(active?.[at - 1]?.event.kind).toBe('PolicyEvaluated') // I9
  }

  /**
   * The entries of the one journal that has no terminal record, or of the delegated one where its parent waits for it; every
   * journal in the folder must verify [I1, I2].
   */
  async activeJournal(): Promise<readonly Entry[]> {
    const active: [string, readonly Entry[]][] = []
    for (const name of readdirSync(this.governed).filter((entry) => entry.endsWith('.jsonl'))) {
      const path = join(this.governed, name)
      const entries = await verify(this.world, path, KEY)
      if (entries.at(-1)?.event.kind !== 'Terminated') active.push([path, entries])
    }
    if (!this.delegates || active.length !== 2) expect(active).toHaveLength(1)
    const child = active.find(([, entries]) => entries[0]?.agent_id === REVIEWER)
    if (active.length === 2) expect(child).toBeDefined()
    const [path, entries] = (child ?? active[0]) as [string, readonly Entry[]]
    this.#active = path
    return entries
  }

  async #judged<T>(check: () => Promise<T>): Promise<T | undefined> {
    try {
      return await check()
    } catch (error) {
      this.objections.push(error)
      return undefined
    }
  }

  /** Resolves when the model is asked next. Call it before the message that makes it so. */
  entered(): Promise<void> {
    return within('an inference', new Promise((resolve) => this.#entered.push(resolve)))
  }

  connect(key: 'fixture' | 'other' = 'fixture'): Promise<ChatClient> {
    return ChatClient.open(`${this.server.chatUrl}?token=${key}.${SECRET}`)
  }

  /** The status that refuses the upgrade. */
  refusedStatus(token: string): Promise<number> {
    const socket = new WebSocket(`${this.server.chatUrl}?token=${encodeURIComponent(token)}`)
    return within(
      'a refusal',
      new Promise((resolve, reject) => {
        socket.on('error', () => undefined)
        socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0))
        socket.on('open', () => reject(new Error('the upgrade was accepted')))
      }),
    )
  }

  sdkSession(onMessage: (message: ServerMessage) => void): SdkSession {
    return this.coordinator.sdkSession(onMessage)
  }

  /** Checks the reference the way I12 says, and gives it back. */
  checkedAudit(message: ServerMessage): AuditReference {
    if (message.type !== 'AuditOpened') throw new Error(`expected AuditOpened and got ${JSON.stringify(message)}`)
    expect(message.audit.public_key).toBe(KEY.hex)
    expect(message.audit.path.startsWith(this.root)).toBe(true)
    return message.audit
  }

  entriesOf(audit: AuditReference): Promise<readonly Entry[]> {
    return verifyRun(this.world, audit.path, KEY, audit.run_id as RunId)
  }

  claimsExist(): boolean {
    return existsSync(this.invocations)
  }

  /** Ends the server and checks that nothing is held any more [I13]. */
  async finish(): Promise<void> {
    if (this.#finished) return
    this.#finished = true
    await within('the end of the server', this.server.close(), 2000)
    await until('the coordinator is held by nobody', async () => this.coordinator.holders === 0, 2000)
    rmSync(this.root, { recursive: true, force: true })
    expect(this.objections).toEqual([])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.cancelNow()
    rmSync(this.root, { recursive: true, force: true })
  }
}

const HEALTH_CALL = { id: 'health-call', name: 'system_health', arguments: '{}' }
const DELEGATE_CALL = { id: 'delegate-call', name: 'delegate', arguments: '{"agent":"alias","task":"health"}' }

function replyTo({ messages }: Conversation, delegating: boolean): InferenceResponse {
  const result = messages.findLast(({ role }) => role === 'tool')
  return {
    content: result?.content ?? '',
    tool_calls: result === undefined ? [delegating ? DELEGATE_CALL : HEALTH_CALL] : [],
    finish_reason: result === undefined ? 'tool_calls' : 'stop',
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    model: 'local-coordinator-fixture',
  }
}

/** A chat client that speaks the wire format and nothing else. */
export class ChatClient {
  readonly #socket: WebSocket
  readonly #received: ServerMessage[] = []
  /** The close code, once the connection is gone. */
  readonly closed: Promise<number>
  #waiting: (() => void) | null = null

  private constructor(socket: WebSocket) {
    this.#socket = socket
    this.closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as ServerMessage
      if (message.type === 'Pong') return
      this.#received.push(message)
      this.#waiting?.()
    })
  }

  static open(url: string): Promise<ChatClient> {
    const socket = new WebSocket(url)
    const client = new ChatClient(socket)
    return within(
      'a connection',
      new Promise((resolve, reject) => {
        socket.on('open', () => resolve(client))
        socket.on('error', reject)
      }),
    )
  }

  send(message: object | string | Buffer): void {
    this.#socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message))
  }

  chat(id: string, content = CHAT_TEXT): void {
    this.send({ type: 'ChatSend', id, content })
  }

  inspect(id: string, content = CHAT_TEXT): void {
    this.send({ type: 'ChatInspect', id, content })
  }

  /** The next message that is no Pong, within the time of I14. */
  async next(): Promise<ServerMessage> {
    if (this.#received.length === 0) {
      await within('a message', new Promise<void>((resolve) => (this.#waiting = resolve)))
      this.#waiting = null
    }
    return this.#received.shift() as ServerMessage
  }

  /** The next message that ends a turn: the final chunk or an error. */
  async final(): Promise<ServerMessage & { type: 'ChatChunk' | 'Error' }> {
    for (;;) {
      const message = await this.next()
      if (message.type === 'Error' || (message.type === 'ChatChunk' && message.done)) return message
    }
  }

  async close(): Promise<void> {
    this.#socket.close()
    await this.closed
  }

  /** Stops reading from the network, as a client does that is stuck. */
  stopReading(): void {
    this.#socket.pause()
  }

  /** Ends the connection without a word. */
  terminate(): void {
    this.#socket.terminate()
  }
}

export function within<T>(what: string, work: Promise<T>, ms = ARRIVES_MS): Promise<T> {
  let timer: NodeJS.Timeout
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${ms} ms`)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Polls a condition that another process or the end of a connection brings about. */
export async function until(what: string, holds: () => Promise<boolean>, ms = ARRIVES_MS): Promise<void> {
  const end = Date.now() + ms
  while (!(await holds())) {
    if (Date.now() >= end) throw new Error(`it did not come about within ${ms} ms that ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
