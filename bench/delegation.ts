/**
 * One delegation: a message whose parent hands its task to a child that looks once, against two plain messages that look
 * once each. Both sides make two runs of two iterations; what differs is the link, the shared tokens, and one claim less.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from '../src/core/index.ts'
import type { Conversation, Provider, ToolCallRequest } from '../src/providers/index.ts'
import { openRuntime, type Runtime } from '../src/runtime/index.ts'
import { nodeWorld, type World } from '../src/world/index.ts'
import { type Bench, type Context, freshFolder } from './bench.ts'
import { countingWorld } from './counting-world.ts'
import { chatProject } from './project.ts'
import { type Result, resultOf } from './result.ts'
import { compare, median, timed } from './rounds.ts'

export const delegation: Bench = { name: 'delegation', measure }

const PLAIN = 'Inspect system health'
const DELEGATED = 'Let the reviewer inspect system health'
const ANSWER = 'All is well.'

async function measure(context: Context): Promise<readonly Result[]> {
  const messages = context.quick ? 1 : 20
  await using runtime = await open(context, nodeWorld())
  const spent = async (work: () => Promise<void>): Promise<number> => {
    const times: number[] = []
    for (let message = 0; message < messages; message += 1) times.push((await timed(work)).wallMs)
    return median(times)
  }
  const delegated = (): Promise<number> => spent(() => ask(runtime, DELEGATED))
  const twoPlain = (): Promise<number> =>
    spent(async () => {
      await ask(runtime, PLAIN)
      await ask(runtime, PLAIN)
    })
  return [
    resultOf({
      name: 'a delegation, against two plain messages',
      ...(await compare(context, delegated, twoPlain)),
      unit: 'ms',
    }),
    await syncsOfBoth(context),
  ]
}

async function syncsOfBoth(context: Context): Promise<Result> {
  const world = countingWorld(nodeWorld())
  await using runtime = await open(context, world)
  const syncsOf = async (content: string): Promise<number> => {
    await ask(runtime, content) // the first one also makes folders and key
    const before = world.syncs()
    await ask(runtime, content)
    return world.syncs() - before
  }
  const floor = 2 * (await syncsOf(PLAIN))
  const value = await syncsOf(DELEGATED)
  return resultOf({ name: 'a delegation, syncs', value, unit: 'syncs', floor, ratio: value / floor })
}

async function open(context: Context, world: World): Promise<Runtime> {
  const project = chatProject(freshFolder(context, 'delegation'))
  mkdirSync(join(project, 'agents'))
  writeFileSync(
    join(project, 'agents', 'reviewer.symbi'),
    'agent reviewer {\n    policy bench { allow: "system_health" }\n}\n',
  )
  writeFileSync(
    join(project, 'policies', 'delegation.cedar'),
    'permit(principal, action == Action::"delegate::reviewer", resource);\n',
  )
  return await openRuntime({ project, provider: model, world })
}

async function ask(runtime: Runtime, question: string): Promise<void> {
  const { content } = await runtime.ask(question)
  assert(content === ANSWER, 'a measured message is answered')
}

const LOOK: ToolCallRequest = { id: 'look', name: 'system_health', arguments: '{}' }
const DELEGATE: ToolCallRequest = { id: 'd', name: 'delegate', arguments: '{"agent":"reviewer","task":"look"}' }

const model: Provider = {
  name: 'bench',
  defaultModel: 'bench',
  countInput: () => null,
  complete: async (conversation) => {
    const calls = callsOf(conversation)
    return {
      content: calls.length === 0 ? ANSWER : '',
      tool_calls: calls,
      finish_reason: calls.length === 0 ? 'stop' : 'tool_calls',
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      model: 'bench',
    }
  },
}

function callsOf({ messages }: Conversation): readonly ToolCallRequest[] {
  const last = messages.at(-1)
  if (last?.role !== 'user') return []
  return [last.content === DELEGATED ? DELEGATE : LOOK]
}
