/** The program that a tool client starts for itself: one governed session on two streams, put together as `symbi mcp serve` does it. */
import type { Readable, Writable } from 'node:stream'
import { serveStdio } from '../../../broker/index.ts'
import { SURFACE } from '../../../policy/index.ts'
import { openProject, openToolSession, projectGate } from '../../../runtime/index.ts'
import type { World } from '../../../world/index.ts'
import type { Owner } from '../machine/turns.ts'
import type { Observer } from './observer.ts'
import { type AtDeath, type ForeignAndOwn, openForeign, READY_MADE, reportTo } from './program.ts'
import { AGENT, HELD_TOOLS, OWN_TOOLS, PROJECT } from './scenario.ts'

export interface Around {
  readonly streams: { readonly input: Readable; readonly output: Writable }
  /** Called when its client is answered from now on. */
  readonly ready: () => void
  readonly atDeath: AtDeath
}

/** Resolves when its client has left, or the signal has interrupted it, and all is closed. */
export async function runStdioProgram(
  world: World,
  owner: Owner,
  tools: ForeignAndOwn,
  observer: Observer,
  { streams, ready, atDeath }: Around,
  signal: AbortSignal,
): Promise<void> {
  const gate = await projectGate(world, await openProject(world, PROJECT), SURFACE.toolClient, {})
  atDeath(() => gate[Symbol.dispose]())
  const upstreams = await openForeign(world, tools, observer, atDeath)
  try {
    await using session = await openToolSession(
      {
        world,
        project: PROJECT,
        agent: AGENT,
        tools: [...OWN_TOOLS.map((name) => tools.effects.tool(owner, name)), ...upstreams.tools()],
        readyMade: READY_MADE,
        gate,
        queue: null, // nobody sits at a terminal, so what needs a person is refused
        approvalTools: HELD_TOOLS,
        client: { transport: 'stdio' },
      },
      signal,
    )
    await serveStdio({ world, session, held: null, report: reportTo(observer, owner), ready }, streams, signal)
  } finally {
    await upstreams.close()
  }
}
