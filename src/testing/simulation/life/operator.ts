/** The person who is asked: looks every few seconds, and approves, denies, or is away. */
import { chanceOf } from '../chance.ts'
import { ask } from './http-client.ts'
import { pause, type Shore } from './shore.ts'

const PATH = '/api/v1/approvals'

export async function watchOver(shore: Shore): Promise<void> {
  const answered = new Set<string>()
  const decided = new Set<string>()
  const chance = chanceOf(shore.seed, 'operator')
  while (!shore.over) {
    await pause(shore, chance.between(2_000, 15_000))
    if (shore.over || !shore.isHeld()) continue
    const list = await ask(shore, { method: 'GET', path: PATH, waitMs: 20_000 })
    if (list?.status !== 200) continue
    for (const { handle, token } of heldIn(list.body)) {
      if (answered.has(handle)) continue
      const mood = chanceOf(shore.seed, `mood ${token}`).pick([
        'approve',
        'approve',
        'approve',
        'deny',
        'away',
      ] as const)
      if (mood === 'away') continue
      if (!decided.has(handle)) shore.observer.see({ kind: 'Decided', handle, token, decision: mood })
      decided.add(handle) // what is sent may count, whatever comes back
      const said = await ask(shore, { method: 'POST', path: `${PATH}/${handle}/${mood}`, body: {}, waitMs: 20_000 })
      if (said?.status !== 200) continue
      answered.add(handle)
      shore.observer.see({ kind: 'DecisionTold', handle })
    }
  }
}

function heldIn(body: string): readonly { readonly handle: string; readonly token: string }[] {
  const all = JSON.parse(body) as readonly Record<string, unknown>[]
  return (Array.isArray(all) ? all : []).map((held) => ({
    handle: String(held.id),
    token: tokenIn(JSON.stringify(held)),
  }))
}

/** A member of the arguments, or a parameter of the URL that is asked. */
function tokenIn(text: string): string {
  const [, member, parameter = ''] = /\\?"token\\?":\s*\\?"([^"\\]+)|[?&]token=([^"\\&]+)/.exec(text) ?? []
  return member ?? decodeURIComponent(parameter)
}
