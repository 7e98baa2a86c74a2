/** What has to be loaded before the first life that counts. */
import { neverStopped, nodeWorld } from '../../../world/index.ts'
import type { Plan, PlannedEvent } from './plan.ts'

const SAME_FOR_ALL = 10
/** The slowest disk that we wait for. */
const WARMING_MS = 60_000
const LOADING_MS = 30
const real = nodeWorld().clock

/**
 * What is loaded at its first use comes from the real disk, in real time, and a life that meets it is another one each time. So
 * the large modules are loaded by name, and one life is lived until it is the same twice, before the first that counts. Two lives
 * in which nothing was loaded yet look the same too; so its clients must have been answered, or it must be the same many times: a
 * broken runtime may answer nobody.
 */
export async function warmUp(live: (plan: Plan) => Promise<{ readonly trace: readonly string[] }>): Promise<void> {
  await Promise.all([
    import('@ai-sdk/openai-compatible'),
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
    import('@node-rs/argon2'),
    import('fastify'),
    import('ws'),
  ])
  const events: PlannedEvent[] = [
    { kind: 'chat', client: 0, step: { do: 'send', request: 0 } },
    { kind: 'chat', client: 0, step: { do: 'await' } },
    { kind: 'tools', client: 0, step: { do: 'list' } },
    { kind: 'tools', client: 0, step: { do: 'call', call: 0, identified: true, wait: true } },
    { kind: 'stdio', step: { do: 'call', call: 1, identified: true, wait: true } },
  ]
  const latestMs = real.monotonicMs() + WARMING_MS
  let before = ''
  for (let same = 0; real.monotonicMs() < latestMs; ) {
    const { trace } = await live({ seed: 0, events })
    const now = trace.join('\n')
    same = now === before ? same + 1 : 0
    const answered = trace.filter((line) => line.includes('  Settled  ') && !line.includes('NOT_FOUND')).length
    if (same >= (answered >= events.filter(asks).length ? 1 : SAME_FOR_ALL)) return
    before = now
    await real.sleep(LOADING_MS * (1 + same), neverStopped())
  }
  throw new Error(
    `Cannot simulate: a life that is known was not the same twice within ${WARMING_MS} ms of real time. ` +
      'Either the machine is too busy, or something in it waits for the real world: a module that is loaded late, a thread, a file. Load it in warmUp(), or bring it through the World',
  )
}

function asks(event: PlannedEvent): boolean {
  if (event.kind === 'chat') return event.step.do === 'send'
  return (event.kind === 'tools' || event.kind === 'stdio') && event.step.do === 'call'
}
