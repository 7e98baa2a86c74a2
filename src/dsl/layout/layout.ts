/**
 * How a source is laid out: items with an empty line between them, an entry, a rule and a member a line. Owns nothing but
 * the wish: `print` writes it for a tree without a text, `format` fits the author's text and comments to it.
 */

import type {
  Agent,
  Channel,
  FunctionDefinition,
  Item,
  Member,
  Memory,
  Parameter,
  Policy,
  Property,
  Rule,
  Source,
  SubBlock,
  Type,
  TypeDefinition,
  Webhook,
  With,
} from '../tree.ts'
import { block } from './blocks.ts'
import { commaed, expression, lineOfItems } from './expressions.ts'
import { close, type Gap, hanging, open, openBlock, optional, type Piece, word } from './pieces.ts'

export function layOut({ items }: Source): readonly Piece[] {
  const out: Piece[] = []
  for (const one of items) item(out, one)
  return out
}

function item(out: Piece[], node: Item): void {
  switch (node.kind) {
    case 'metadata':
      word(out, 'paragraph', 'metadata')
      body(out, node.entries, (entry) => property(out, 'line', entry))
      return
    case 'agent':
      agent(out, node)
      return
    case 'policy':
      policy(out, 'paragraph', node)
      return
    case 'type':
      typeDefinition(out, node)
      return
    case 'function':
      functionDefinition(out, 'paragraph', node)
      return
    case 'schedule':
      named(out, 'paragraph', 'schedule', node.name.text)
      body(out, node.entries, (entry) => property(out, 'line', entry))
      return
    case 'channel':
    case 'memory':
    case 'webhook':
      named(out, 'paragraph', node.kind, node.name.text)
      body<(Channel | Memory | Webhook)['members'][number]>(out, node.members, (member) => entryOf(out, member))
      return
  }
}

function agent(out: Piece[], node: Agent): void {
  hanging(out, () => {
    word(out, 'paragraph', 'agent')
    word(out, 'space', node.name.text)
    if (node.parameters.length > 0) parameters(out, node.parameters)
    else {
      optional(out, 'none', '(')
      optional(out, 'none', ')')
    }
    returns(out, node.returns)
  })
  body(out, node.members, (one) => member(out, one))
}

function member(out: Piece[], node: Member): void {
  switch (node.kind) {
    case 'capabilities':
      hanging(out, () => {
        word(out, 'line', 'capabilities')
        word(out, 'separator', node.separator)
        lineOfItems(out, 'space', node.value)
      })
      return
    case 'policy':
      policy(out, 'line', node)
      return
    case 'function':
      functionDefinition(out, 'line', node)
      return
    case 'with':
      withBlock(out, node)
      return
  }
}

function withBlock(out: Piece[], node: With): void {
  hanging(out, () => {
    word(out, 'line', 'with')
    for (const attribute of node.attributes) property(out, 'space', attribute)
  })
  block(out, node.body, 'line')
}

function policy(out: Piece[], gap: Gap, node: Policy): void {
  named(out, gap, 'policy', node.name.text)
  body(out, node.rules, (one) => rule(out, one))
}

function rule(out: Piece[], node: Rule): void {
  hanging(out, () => {
    word(out, 'line', node.effect)
    word(out, 'separator', ':')
    expression(out, 'space', node.selector)
    if (node.condition === null) return
    word(out, 'free-space', 'if')
    expression(out, 'space', node.condition)
  })
}

function functionDefinition(out: Piece[], gap: Gap, node: FunctionDefinition): void {
  hanging(out, () => {
    word(out, gap, 'function')
    word(out, 'space', node.name.text)
    parameters(out, node.parameters)
    returns(out, node.returns)
  })
  block(out, node.body)
}

function typeDefinition(out: Piece[], { name, definition }: TypeDefinition): void {
  hanging(out, () => {
    word(out, 'paragraph', 'type')
    word(out, 'space', name.text)
    word(out, 'space', '=')
    if (definition.kind === 'name') {
      word(out, 'space', definition.text)
      return
    }
    open(out, 'space', '{')
    commaed(out, definition.fields, (gap, field) => parameter(out, gap, field), 'free-space')
    close(out, definition.fields.length === 0 ? 'mirror' : 'mirror-space', '}')
  })
}

function parameters(out: Piece[], all: readonly Parameter[]): void {
  open(out, 'none', '(')
  commaed(out, all, (gap, one) => parameter(out, gap, one))
  close(out, 'mirror', ')')
}

function parameter(out: Piece[], gap: Gap, { name, type: wanted }: Parameter): void {
  word(out, gap, name.text)
  word(out, 'separator', ':')
  type(out, 'space', wanted)
}

function returns(out: Piece[], wanted: Type | null): void {
  if (wanted === null) return
  word(out, 'space', '->')
  type(out, 'space', wanted)
}

function type(out: Piece[], gap: Gap, node: Type): void {
  word(out, gap, node.name.text)
  if (node.arguments.length === 0) return
  word(out, 'none', '<')
  for (const [at, argument] of node.arguments.entries()) {
    if (at > 0) word(out, 'none', ',')
    type(out, at === 0 ? 'none' : 'space', argument)
  }
  word(out, 'none', '>')
}

function entryOf(out: Piece[], node: Property | Policy | SubBlock): void {
  switch (node.kind) {
    case 'property':
      property(out, 'line', node)
      return
    case 'policy':
      policy(out, 'line', node)
      return
    case 'sub-block':
      word(out, 'line', node.name)
      body(out, node.entries, (entry) => property(out, 'line', entry))
      return
  }
}

function property(out: Piece[], gap: Gap, { key, separator, value, comma }: Property): void {
  hanging(out, () => {
    word(out, gap, key.text)
    if (separator !== '') word(out, 'separator', separator)
    expression(out, 'space', value)
    if (comma) word(out, 'none', ',')
  })
}

function named(out: Piece[], gap: Gap, keyword: string, name: string): void {
  hanging(out, () => {
    word(out, gap, keyword)
    word(out, 'space', name)
  })
}

/** Braces around lines. */
function body<T>(out: Piece[], all: readonly T[], one: (part: T) => void): void {
  openBlock(out, 'space', '{')
  for (const part of all) one(part)
  close(out, all.length === 0 ? 'none' : 'line', '}')
}
