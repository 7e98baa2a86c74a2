/**
 * Folders of honest journals, as a mangler finds them: what real runs of the runtime wrote, and what told ones would have
 * written. Every run is made from a seed and on a clock that stands still, so that a seed replays its lengths and places.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unconfiguredApi } from '../../../src/api/index.ts'
import { type AgentId, type Hash, type InvocationId, newId, parseId, type RunId } from '../../../src/core/index.ts'
import type { Entry } from '../../../src/events/index.ts'
import { type RecoveryReport, recoveryReport, verifyPrefixBytes } from '../../../src/journal/index.ts'
import { type PublicKey, parsePublicKey, signingKeyOf } from '../../../src/keys/index.ts'
import { openRuntime, openToolSession } from '../../../src/runtime/index.ts'
import { temporaryProject, testWorld } from '../../../src/testing/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { delegatingModel, delegatingProject, HEALTHY } from '../delegated-turn.ts'
import { callOf, modelOf } from '../scripted-model.ts'
import { family, oneDelegation, type ToldRun } from '../told-runs.ts'
import { toolOf } from '../tools.ts'
import { linesOf } from './lines.ts'
import { rememberingKey } from './remembering-key.ts'

export interface HonestJournal {
  /** `AGENT.RUN.jsonl` */
  readonly file: string
  readonly agentId: AgentId
  readonly runId: RunId
  readonly bytes: Buffer
  /** Each with its newline; what a crash left behind the last one is none. */
  readonly lines: readonly Buffer[]
  readonly entries: readonly Entry[]
  readonly report: RecoveryReport
  /** The run that began this one, where one did. */
  readonly parentId: RunId | null
}

/** Journals of one signer that lie in one folder. */
export interface Evidence {
  readonly name: string
  readonly key: PublicKey
  readonly journals: readonly HonestJournal[]
  /** True when every run has its end. */
  readonly ended: boolean
}

const never = new AbortController().signal

/** A journal of another run than this one, of the same principal where there is one. */
export function otherThan({ journals }: Evidence, { runId, agentId }: HonestJournal): HonestJournal {
  const others = journals.filter((journal) => journal.runId !== runId)
  const other = others.find((journal) => journal.agentId === agentId) ?? others[0]
  if (other === undefined) throw new Error('evidence to be mangled holds two journals at least')
  return other
}

/** The run at the top of the tree that a run belongs to. */
export function topOf(evidence: Evidence, journal: HonestJournal): HonestJournal {
  const parent = evidence.journals.find(({ runId }) => runId === journal.parentId)
  return parent === undefined ? journal : topOf(evidence, parent)
}

let made: Promise<readonly Evidence[]> | null = null

/** All there is. Made once in a process; takes some hundred milliseconds. */
export function honestEvidence(): Promise<readonly Evidence[]> {
  made ??= make()
  return made
}

async function make(): Promise<readonly Evidence[]> {
  return [
    await chats(),
    await unconfirmedChats(),
    await delegations(),
    await toolSession(),
    await toldBy('a told delegation', oneDelegation().tale.runs),
    await toldBy('a told family', family().tale.runs),
  ]
}

/** Two chats that each asked a tool twice. */
async function chats(): Promise<Evidence> {
  using project = temporaryProject({ policies: { default: 'permit(principal, action, resource);' } })
  const turn = [
    callOf('a', 'look', { at: 'the river' }),
    callOf('b', 'look', { at: 'the mill' }),
    { content: 'A mill.' },
  ]
  const provider = modelOf(...turn, ...turn)
  await using runtime = await openRuntime({
    project: project.path,
    provider,
    tools: [toolOf('look')],
    world: testWorld({ seed: 11 }),
  })
  await runtime.ask('Look, and tell me what you saw')
  await runtime.ask('Look again')
  return await evidenceIn('chats', project.path)
}

/** The same where a tool failed: what it did is unknown, and must stay so. */
async function unconfirmedChats(): Promise<Evidence> {
  using project = temporaryProject({ policies: { default: 'permit(principal, action, resource);' } })
  const pay = toolOf('pay', async () => {
    throw new Error('the connection was lost')
  })
  await using runtime = await openRuntime({
    project: project.path,
    provider: modelOf(callOf('a', 'pay', { amount: 5 })),
    tools: [pay],
    world: testWorld({ seed: 12 }),
  })
  for (const content of ['Pay five', 'Pay five again']) await runtime.ask(content).catch(() => undefined)
  return await evidenceIn('chats with an effect of unknown outcome', project.path)
}

/** Two chats that each delegated to an agent. */
async function delegations(): Promise<Evidence> {
  using project = delegatingProject()
  await using runtime = await openRuntime({
    project: project.path,
    provider: delegatingModel(),
    api: unconfiguredApi({ getSystemHealth: async () => ({ status: HEALTHY }) as never }),
    world: testWorld({ seed: 13 }),
  })
  await runtime.ask('Let the reviewer look')
  await runtime.ask('And again')
  return await evidenceIn('delegations', project.path)
}

/** A client of tools, whose calls have ids of their own and so are runs of their own. */
async function toolSession(): Promise<Evidence> {
  using project = temporaryProject({
    policies: { default: 'permit(principal, action, resource);' },
    agents: { clerk: 'agent clerk() {}' },
  })
  const world = testWorld({ seed: 14 })
  const tools = [toolOf('pay', async () => 'paid')]
  const session = await openToolSession({ project: project.path, agent: 'clerk', tools, world }, never)
  const caller = `sha256:${'a'.repeat(64)}` as Hash
  for (const call_id of ['first', 'second']) {
    const id = newId('invocation', world.random) as InvocationId
    await session.callOnce({ call_id, name: 'pay', arguments: { amount: 5 } }, { id, caller }, never)
  }
  await session.call({ call_id: 'third', name: 'pay', arguments: { amount: 7 } }, never)
  await session.close()
  return await evidenceIn('a tool session', project.path)
}

async function evidenceIn(name: string, project: string): Promise<Evidence> {
  const governed = join(project, '.symbiont', 'governed')
  const { publicKey } = signingKeyOf(readFileSync(join(governed, 'audit-signing.key')))
  const files = readdirSync(governed)
    .filter((file) => file.endsWith('.jsonl'))
    .sort()
  return await evidenceOf(
    name,
    publicKey,
    files.map((file) => [file, readFileSync(join(governed, file))]),
  )
}

async function toldBy(name: string, runs: readonly ToldRun[]): Promise<Evidence> {
  const key = parsePublicKey(runs[0]?.tale.key.publicHex ?? '')
  return await evidenceOf(
    name,
    key,
    runs.map((run) => [run.fileName, Buffer.concat(run.lines())]),
  )
}

async function evidenceOf(
  name: string,
  publicKey: PublicKey,
  files: readonly (readonly [file: string, bytes: Buffer])[],
): Promise<Evidence> {
  const key = rememberingKey(publicKey)
  const journals: HonestJournal[] = []
  for (const [file, bytes] of files) journals.push(await honestOf(file, bytes, key))
  return { name, key, journals, ended: journals.every(({ report }) => report.journal_complete) }
}

async function honestOf(file: string, bytes: Buffer, key: PublicKey): Promise<HonestJournal> {
  const [agent = '', run = ''] = file.split('.')
  const [agentId, runId] = [parseId('agent', agent), parseId('run', run)]
  const prefix = await verifyPrefixBytes(nodeWorld(), bytes, key, runId)
  const start = prefix.entries[0]?.event
  const link = start?.kind === 'Started' ? start.execution_context?.delegation : undefined
  const above = (link as { readonly parent_audit?: { readonly run_id?: RunId } } | undefined)?.parent_audit
  const report = recoveryReport(prefix)
  return {
    file,
    agentId,
    runId,
    bytes,
    lines: linesOf(bytes).filter((line) => line.at(-1) === 0x0a),
    entries: prefix.entries,
    report,
    parentId: above?.run_id ?? null,
  }
}

/** The same runs, each stopped at an entry or inside the next, as a crash leaves them. The order of journals is kept. */
export async function crashed(evidence: Evidence, cuts: readonly number[]): Promise<Evidence> {
  const files = evidence.journals.map(({ file, lines, bytes }, at): readonly [string, Buffer] => {
    const first = lines[0] as Buffer
    const cut = Math.max(first.length, cuts[at % cuts.length] as number)
    return [file, bytes.subarray(0, Math.min(cut, bytes.length))]
  })
  return await evidenceOf(`${evidence.name}, crashed`, evidence.key, files)
}
