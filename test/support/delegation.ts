/** A parent that delegates, for tests: its own log in memory, its children's journals in a real folder. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Toolbox } from '../../src/calls/index.ts'
import { newId } from '../../src/core/index.ts'
import { type AgentRegistry, buildRegistry, type Delegation, openDelegation } from '../../src/delegation/index.ts'
import { DEFAULT_LOOP_CONFIG, type Entry, type LoopConfig } from '../../src/events/index.ts'
import { readSigningKey, verify } from '../../src/journal/index.ts'
import { type LoopResult, type RunSetup, runLoop } from '../../src/loop/index.ts'
import type { Conversation, InferenceResponse, Provider } from '../../src/providers/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { allowAll } from './gates.ts'
import { MemoryLog } from './memory-log.ts'
import { type ModelForTest, modelOf, type Reply } from './scripted-model.ts'
import { type CountedTool, toolOf } from './tools.ts'

export interface DelegationTrialParts {
  /** What `agents/` holds: file name and text. */
  readonly sources?: Readonly<Record<string, string>>
  readonly parent: readonly Reply[]
  readonly child?: readonly Reply[]
  readonly limits?: Partial<LoopConfig>
  readonly setup?: Partial<RunSetup>
  readonly tool?: CountedTool
  readonly world?: World
  /** What lies between the parent's tools and the delegation, and between the delegation and the parent. */
  readonly inside?: (tools: Toolbox) => Toolbox
  readonly outside?: (tools: Toolbox) => Toolbox
  /** False for a run that cannot delegate. */
  readonly handle?: boolean
}

export interface DelegationTrial extends AsyncDisposable {
  readonly world: World
  readonly log: MemoryLog
  readonly registry: AgentRegistry
  readonly delegation: Delegation
  readonly parentModel: ModelForTest
  readonly childModel: ModelForTest
  readonly tool: CountedTool
  readonly governed: string
  run(signal?: AbortSignal): Promise<LoopResult>
  /** The verified entries of every child's journal; an empty journal gives none. */
  children(): Promise<readonly (readonly Entry[])[]>
}

export async function delegationTrial(parts: DelegationTrialParts): Promise<DelegationTrial> {
  const world = parts.world ?? nodeWorld()
  const governed = join(mkdtempSync(join(tmpdir(), 'symbi-delegation-')), 'governed')
  await world.files.mkdir(governed, 0o700)
  const sources = parts.sources ?? { 'reviewer.symbi': 'agent reviewer {}' }
  const files = Object.entries(sources).map(([file, text]) => ({ file, text }))
  const registry = buildRegistry({ files, unread: null })
  const tool = parts.tool ?? toolOf('look')
  const box = toolbox({ tools: [tool] }, world)
  const { inside = asItIs, outside = asItIs } = parts
  const delegation = openDelegation(
    { registry, toolbox: inside(box), childToolbox: box, governedFolder: governed },
    world,
  )
  const parentModel = modelOf(...parts.parent)
  const childModel = modelOf(...(parts.child ?? [{ content: 'the child is done' }]))
  const log = new MemoryLog()
  return {
    world,
    log,
    registry,
    delegation,
    parentModel,
    childModel,
    tool,
    governed,
    run: (signal = new AbortController().signal) =>
      runLoop(
        {
          world,
          principal: newId('agent', world.random),
          provider: either(parentModel, childModel),
          gate: allowAll,
          toolbox: outside(delegation.toolbox),
          ...(parts.handle === false ? {} : { delegates: delegation.delegates }),
          log,
          config: { ...DEFAULT_LOOP_CONFIG, ...parts.limits },
          messages: [{ role: 'user', content: 'go' }],
          ...parts.setup,
        },
        signal,
      ),
    async children() {
      const key = await readSigningKey(world, governed)
      const names = readdirSync(governed).filter((name) => name.endsWith('.jsonl'))
      return await Promise.all(
        names.map(async (name) => {
          const path = join(governed, name)
          if ((await world.files.lstat(path))?.size === 0 || key === null) return []
          return await verify(world, path, key.publicKey)
        }),
      )
    },
    [Symbol.asyncDispose]: async () => rmSync(join(governed, '..'), { recursive: true, force: true }),
  }
}

const asItIs = (tools: Toolbox): Toolbox => tools

/** The child is recognised by its first message, as a provider would see it. */
function either(parent: Provider, child: Provider): Provider {
  const modelFor = ({ messages }: Conversation): Provider =>
    messages[0]?.content.startsWith('You are agent') === true ? child : parent
  return {
    ...parent,
    complete: (conversation, options, signal): Promise<InferenceResponse> =>
      modelFor(conversation).complete(conversation, options, signal),
  }
}
