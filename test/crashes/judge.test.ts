/** The judge and the witness of the campaign, given evidence that was planted: what is not true must not pass. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { digest, type JsonObject, newId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type Event } from '../../src/events/index.ts'
import { createJournal } from '../../src/journal/index.ts'
import { ensurePrivateDirectory } from '../../src/store/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { bundled } from '../support/child-script.ts'
import { type EffectCounter, effectCounter } from '../support/effect-counter.ts'
import { governedIn, journalsOf, NEEDS_APPROVAL, publicKeyOf } from './evidence.ts'
import { type Effect, isBroken, judge, type Story } from './judge.ts'
import type { Answer } from './messages.ts'
import { workOf } from './scenarios.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const RUN = '00000000-0000-4000-8000-000000000002'
const [work] = workOf('chat', 'tag', [ID])
const PATHS = work?.paths ?? []

const answer = (kind: Answer['kind'], more: Partial<Answer> = {}): Answer => ({
  kind,
  content: kind === 'Unresolved' ? null : 'done',
  run: RUN,
  code: null,
  ...more,
})
const happened = (paths = PATHS): readonly Effect[] => paths.map((path) => ({ path, objection: null }))

/** A chat that was answered and is known afterwards. */
const sound: Story = {
  scenario: 'chat',
  work: work === undefined ? [] : [work],
  told: { opened: new Map([[ID, RUN]]), answered: new Map([[ID, answer('Recorded')]]), done: [] },
  effects: happened(),
  effectsLater: [],
  later: new Map([[ID, [answer('Recorded'), answer('Recorded')]]]),
  torn: new Set(),
  presented: [],
  journals: [],
  key: null,
  changed: [],
  troubles: [],
}
const untold = { opened: new Map(), answered: new Map(), done: [] }
const laterOf = (...answers: Answer[]): Pick<Story, 'later'> => ({ later: new Map([[ID, answers]]) })
const fresh = laterOf(answer('NotFound'), answer('Recorded'))

test('a story in which everything agrees is no objection', async () => {
  expect(await judge(sound)).toMatchObject({ effects: 2, recorded: 1, contradictions: 0, objections: [] })
  const unseen: Story = { ...sound, told: untold, effects: [], effectsLater: happened(), ...fresh }
  expect(await judge(unseen)).toMatchObject({ notFound: 1, objections: [] })
  const unresolved = await judge({ ...sound, told: untold, ...laterOf(answer('Unresolved')) })
  expect(unresolved).toMatchObject({ unresolved: 1, objections: [] })
  const opened = { ...untold, opened: new Map([[ID, RUN]]) }
  const nameless = { ...sound, told: opened, ...laterOf(answer('Unresolved', { run: null })), torn: new Set([ID]) }
  expect(await judge(nameless)).toMatchObject({ unresolved: 1, objections: [] })
})

const once = PATHS.slice(0, 1)
test.each<[string, Partial<Story>, 'without' | 'twice' | 'broken' | 'contradictions']>([
  [
    'an effect to which the witness objected',
    { effects: [{ path: once[0] ?? '', objection: 'no' }, ...happened(PATHS.slice(1))] },
    'without',
  ],
  ['an effect that happened twice', { effects: [...happened(), ...happened(once)] }, 'twice'],
  ['an effect that happened again later', { effectsLater: happened(once) }, 'twice'],
  [
    'a journal that does not verify',
    { journals: [{ path: 'a', runId: RUN, entries: [], problem: 'torn inside' }] },
    'broken',
  ],
  ['a told result that nobody knows any more', laterOf(answer('Unresolved')), 'contradictions'],
  ['a told result that is another one now', laterOf(answer('Recorded', { content: 'other' })), 'contradictions'],
  ['a told run that is another one now', laterOf(answer('Recorded', { run: ID })), 'contradictions'],
  ['a told run that was never seen', { effects: [], effectsLater: happened(), ...fresh }, 'contradictions'],
  [
    'an effect of what was never seen',
    { told: untold, ...fresh, effects: happened(once), effectsLater: happened(PATHS.slice(1)) },
    'contradictions',
  ],
  ['a result that speaks of more than happened', { effects: happened(once) }, 'contradictions'],
  [
    'a result that says that nothing happened, where something did',
    { told: untold, ...laterOf(answer('Recorded', { content: '' })) },
    'contradictions',
  ],
  [
    'a run that is said to have failed, and has no end',
    { told: untold, ...laterOf(answer('Failed', { code: 'LOOP_ERROR', run: ID })) },
    'contradictions',
  ],
  [
    'an effect that came of asking again',
    { told: untold, effects: [], effectsLater: happened(once), ...laterOf(answer('Unresolved')) },
    'contradictions',
  ],
  [
    'an effect behind which no run is named',
    { told: untold, ...laterOf(answer('Unresolved', { run: null })) },
    'contradictions',
  ],
  ['two answers that differ', laterOf(answer('Recorded'), answer('Recorded', { content: 'other' })), 'contradictions'],
  ['an id for which nobody answered', { later: new Map() }, 'contradictions'],
  [
    'an answer that is none',
    { told: untold, ...laterOf(answer('Other', { code: 'STORAGE_UNSAFE' })) },
    'contradictions',
  ],
  ['a journal that changed afterwards', { changed: ['a.jsonl'] }, 'contradictions'],
  ['an approval of the dead that was good', { presented: ['counted /effect/x'] }, 'contradictions'],
  [
    'a call that is told to be done without a receipt',
    { told: { ...sound.told, done: ['/effect/x'] } },
    'contradictions',
  ],
])('%s is an objection', async (_what, part, counter) => {
  const verdict = await judge({ ...sound, ...part })
  expect(verdict[counter]).toBeGreaterThan(0)
  expect(isBroken(verdict)).toBe(true)
  expect(verdict.objections.length).toBeGreaterThanOrEqual(verdict[counter])
})

let base: string
let witness: EffectCounter
beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'symbi-witness-')))
  witness = await effectCounter(await bundled('test/crashes/witness.ts'), [base])
}, 60_000)
afterAll(async () => {
  await witness[Symbol.asyncDispose]()
  rmSync(base, { recursive: true, force: true })
})

const world = nodeWorld()
let projects = 0

interface Planted {
  readonly tag: string
  readonly project: string
  /** The judgement of the witness on an effect that happens now. */
  effect(step: number): Promise<string | null>
}

/** A project whose journal holds these events, signed with its own key. */
async function planted(events: readonly Event[]): Promise<Planted> {
  projects += 1
  const tag = `project-${projects}`
  const project = join(base, tag)
  mkdirSync(project, { mode: 0o700 })
  await ensurePrivateDirectory(world, join(project, '.symbiont'), 'state folder')
  await using journal = await createJournal(world, { directory: governedIn(project), principal: AGENT })
  const timestamp = world.clock.wall()
  await journal.append(events.map((event) => ({ timestamp, agent_id: AGENT, iteration: 1, event })))
  const effect = async (step: number): Promise<string | null> => {
    const path = `/effect/${tag}/0/${step}`
    await fetch(`${witness.origin}${path}`)
    await witness.printed(`"path":"${path}"`)
    const lines = witness.counted.map((line) => JSON.parse(line) as Effect)
    return lines.findLast((line) => line.path === path)?.objection ?? null
  }
  return { tag, project, effect }
}

const AGENT = newId('agent', world.random)
const DISPATCH = newId('dispatch', world.random)
const HASH = digest('the call')
const started: Event = { kind: 'Started', agent_id: AGENT, config: DEFAULT_LOOP_CONFIG }
const urlOf = (step: number): string => `http://127.0.0.1/effect/project-${projects + 1}/0/${step}`
/** As the runtime signs them, for the next project. */
const decision = (more: JsonObject = {}): Event => ({
  kind: 'PolicyEvaluated',
  iteration: 1,
  action_count: 1,
  denied_count: 0,
  approved_calls: [{ fingerprint: HASH, arguments: { method: 'GET', url: urlOf(1) }, ...more }],
})
const intent: Event = {
  kind: 'ToolDispatchStarted',
  dispatch_id: DISPATCH,
  run_key: `${AGENT}:1`,
  call_id: 'call-1',
  call_fingerprint: HASH,
  tool_name: 'http_request',
}
const request = (): Event => ({
  kind: 'ToolEffect',
  run_key: `${AGENT}:1`,
  call_fingerprint: HASH,
  effect: {
    NetworkRequestStarted: { request_id: 'r', method: 'GET', url: urlOf(1), request_hash: HASH, request_bytes: 0 },
  },
})
const receipt: Event = { kind: 'ToolDispatchFinished', dispatch_id: DISPATCH, observation_hash: HASH, is_error: false }

test('the witness has nothing against an effect whose decision and intent are signed, and against any other it has', async () => {
  expect(await (await planted([started, decision(), intent, request()])).effect(1)).toBeNull()
  const other = await planted([started, decision(), intent, request()])
  expect(await other.effect(2)).toContain('no journal holds an allowed call and its intent')
})

test.each<[string, () => readonly Event[], string]>([
  ['without its decision', () => [started, intent, request()], 'no journal holds an allowed call'],
  ['without its intent', () => [started, decision()], 'no journal holds an allowed call'],
  ['before its decision', () => [started, intent, request(), decision()], 'no journal holds an allowed call'],
  ['that was denied', () => [started, { ...decision(), denied_count: 1 } as Event, intent, request()], 'no journal'],
  ['that is not announced', () => [started, decision(), intent], 'its request is not announced'],
  ['after its receipt', () => [started, decision(), intent, request(), receipt], 'its receipt stands there already'],
])('the witness objects to an effect %s', async (_what, events, reason) => {
  expect(await (await planted(events())).effect(1)).toContain(reason)
})

test('the witness objects to an effect that no person approved, and to one whose approval is not used up', async () => {
  const unapproved = await planted([started, decision(), intent, request()])
  writeFileSync(join(unapproved.project, NEEDS_APPROVAL), '')
  expect(await unapproved.effect(1)).toContain('names no approval')
  const unspent = await planted([started, decision({ approval: { approver: 'admin' } }), intent, request()])
  writeFileSync(join(unspent.project, NEEDS_APPROVAL), '')
  expect(await unspent.effect(1)).toContain('its approval is not used up')
})

test('a journal with another byte in it does not verify, and no effect is good while it lies there', async () => {
  const { project, effect } = await planted([started, decision(), intent, request()])
  const name = readdirSync(governedIn(project)).find((each) => each.endsWith('.jsonl')) ?? ''
  const path = join(governedIn(project), name)
  const key = await publicKeyOf(project)
  expect(await journalsOf(project, key)).toMatchObject([{ problem: null }])
  appendFileSync(path, 'half a line')
  expect(await journalsOf(project, key)).toMatchObject([{ problem: null }]) // as a crash leaves it
  writeFileSync(path, readFileSync(path, 'utf8').replace('"call-1"', '"call-2"'))
  const broken = await journalsOf(project, key)
  expect(broken).toMatchObject([{ problem: expect.any(String), entries: [] }])
  expect(await judge({ ...sound, journals: broken })).toMatchObject({ broken: 1 })
  expect(await effect(1)).toContain('a journal does not verify')
})
