/** What a client may do, under whatever id, and what it may ask. */
import { oneOf } from './chance.ts'
import { asked, callText, IDS, plain, type Recipe, type Recipes } from './parts.ts'

const permitted: Recipe = (maker) => asked(maker, maker.bait.permitted, { effects: 1 })

export const honestFrames: Recipes = {
  'a permitted call': permitted,
  'another permitted call': permitted,
  'one more permitted call': permitted,
  'a permitted call that wants to hear of its progress': (maker) =>
    asked(maker, maker.bait.permitted, { effects: 1, params: { _meta: { progressToken: oneOf(maker.chance, IDS) } } }),
  'a permitted call with its members in another order': (maker) => {
    const [id, mark] = [maker.anyId(), maker.mark()]
    const params = maker.bait.permitted(mark)
    const bytes = JSON.stringify({ params, method: 'tools/call', id, jsonrpc: '2.0' })
    return { bytes, mark, effects: 1, answer: { kind: 'Answer', id } }
  },
  'a permitted call with its id written in another way': (maker) => {
    const mark = maker.mark()
    const bytes = callText(10, maker.bait.permitted(mark)).replace('"id":10', '"id" :\t1e1')
    return { bytes, mark, effects: 1, answer: { kind: 'Answer', id: 10 } }
  },
  'a call that policy forbids': (maker) => asked(maker, maker.bait.denied),
  'a call that needs a person': (maker) => asked(maker, maker.bait.held),
  'the list of tools': (maker) => {
    const id = maker.anyId()
    return plain(maker, { id, method: 'tools/list' }, { kind: 'Answer', id })
  },
}
