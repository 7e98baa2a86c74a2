/** Calls under ids that their client chose: new ones, used ones, those of others, and what is no id. */
import { oneOf, uuidOf } from './chance.ts'
import { asked, callText, type Made, type Maker, OWN_MEMBER, type Recipes } from './parts.ts'

const CLI_MEMBERS = ['claudecode/toolUseId', 'callId']

export const invocationFrames: Recipes = {
  'a call under a new id': (maker) => fresh(maker, OWN_MEMBER, uuidOf(maker.chance)),
  'a call under a new id of an agent CLI': (maker) =>
    fresh(
      maker,
      oneOf(maker.chance, CLI_MEMBERS),
      oneOf(maker.chance, [uuidOf(maker.chance), `toolu_${uuidOf(maker.chance)}`]),
    ),
  'the same id with the same call': (maker) => repeated(maker, (mark) => mark),
  'the same id and call once more': (maker) => repeated(maker, (mark) => mark),
  'the same id with another call': (maker) => repeated(maker, () => maker.mark()),
  'the id of somebody else': (maker) => {
    const others = maker.loot.invocations.filter(({ client }) => client !== maker.client)
    if (others.length === 0) return fresh(maker, OWN_MEMBER, uuidOf(maker.chance))
    const { id: invocation, mark } = oneOf(maker.chance, others)
    return under(maker, OWN_MEMBER, invocation, oneOf(maker.chance, [mark, maker.mark()]), 0)
  },
  'a call under what is no id': (maker) => {
    const forms = ['again', '', 7, null, {}, '00000000-0000-0000-0000-000000000000', uuidOf(maker.chance).slice(1)]
    return asked(maker, maker.bait.permitted, { params: { _meta: { [OWN_MEMBER]: oneOf(maker.chance, forms) } } })
  },
  'a call under what some agent CLIs send for an id': (maker) => {
    const forms = ['1', '', 7, null, {}, 'has a space in it, and is long']
    const _meta = { [oneOf(maker.chance, CLI_MEMBERS)]: oneOf(maker.chance, forms) }
    return asked(maker, maker.bait.permitted, { effects: 1, params: { _meta } })
  },
}

function fresh(maker: Maker, member: string, invocation: string): Made {
  const mark = maker.mark()
  maker.invoke(mark, member, invocation)
  return under(maker, member, invocation, mark, 1)
}

/** The effect belongs to the first frame with the id. */
function repeated(maker: Maker, markFor: (first: string) => string): Made {
  if (maker.invocations.length === 0) return fresh(maker, OWN_MEMBER, uuidOf(maker.chance))
  const { id, member, mark } = oneOf(maker.chance, maker.invocations)
  return under(maker, member, id, markFor(mark), 0)
}

function under(maker: Maker, member: string, invocation: string, mark: string, effects: 0 | 1): Made {
  const id = maker.anyId()
  const bytes = callText(id, maker.bait.permitted(mark), { _meta: { [member]: invocation } })
  return { bytes, mark, effects, answer: { kind: 'Answer', id } }
}
