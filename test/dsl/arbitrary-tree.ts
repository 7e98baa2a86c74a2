/** Arbitrary sources: every kind of item and member, in the shapes that the grammar produces. */
import fc, { type Arbitrary } from 'fast-check'
import type {
  Agent,
  Capabilities,
  Channel,
  Expression,
  FunctionDefinition,
  Item,
  Member,
  Memory,
  Name,
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
} from '../../src/dsl/tree.ts'
import { body, expression, name, recordValue, selector, span, value } from './arbitrary-code.ts'

const array: Arbitrary<Expression> = fc
  .array(expression, { maxLength: 2 })
  .map((items) => ({ kind: 'array', items, span }))

/** Blocks open where these words are followed by a brace or by a name, so they are no keys here. */
const key: Arbitrary<Name> = name.filter(
  ({ text }) => !['search', 'filter', 'data_classification', 'policy'].includes(text),
)

function property(separator: Arbitrary<Property['separator']>, wanted: Arbitrary<Expression>): Arbitrary<Property> {
  return fc
    .record({ key, separator, value: wanted, comma: fc.boolean() })
    .map((parts) => ({ kind: 'property', ...parts, span }))
}

const either = fc.constantFrom<('=' | ':')[]>('=', ':')
const entries = fc.array(property(either, fc.oneof(value, array, recordValue)), { maxLength: 3 })
const plainEntries = fc.array(property(either, value), { maxLength: 3 })
const bareEntry = property(fc.constant(''), value)

function typeOf(depth: number): Arbitrary<Type> {
  const inner: Arbitrary<readonly Type[]> =
    depth === 0 ? fc.constant([]) : fc.array(typeOf(depth - 1), { maxLength: 2 })
  return fc.record({ name, arguments: inner }).map((parts) => ({ kind: 'type-reference', ...parts, span }))
}
const type = typeOf(2)

const parameters: Arbitrary<readonly Parameter[]> = fc.array(
  fc.record({ name, type }).map((parts): Parameter => ({ kind: 'parameter', ...parts, span })),
  { maxLength: 2 },
)

const rule: Arbitrary<Rule> = fc
  .record({
    effect: fc.constantFrom('allow', 'deny', 'require', 'audit'),
    selector,
    condition: fc.option(expression),
  })
  .map((parts) => ({ kind: 'rule', ...parts, span }))

const policy: Arbitrary<Policy> = fc
  .record({ name, rules: fc.array(rule, { maxLength: 2 }) })
  .map((parts) => ({ kind: 'policy', ...parts, span }))

const functionDefinition: Arbitrary<FunctionDefinition> = fc
  .record({ name, parameters, returns: fc.option(type), body })
  .map((parts) => ({ kind: 'function', ...parts, span }))

const capabilities: Arbitrary<Capabilities> = fc
  .record({ separator: either, value: array as Arbitrary<Capabilities['value']> })
  .map((parts) => ({ kind: 'capabilities', ...parts, span }))

/** An assignment directly behind `with {` is taken for attributes in the wrong place. */
const withBlock: Arbitrary<With> = fc
  .record({ attributes: fc.array(property(fc.constant('='), fc.oneof(value, array)), { maxLength: 2 }), body })
  .filter(({ attributes, body: { statements } }) => attributes.length > 0 || statements[0]?.kind !== 'assign')
  .map((parts) => ({ kind: 'with', ...parts, span }))

const agent: Arbitrary<Agent> = fc
  .record({
    name,
    parameters,
    returns: fc.option(type),
    members: fc.array(fc.oneof<Arbitrary<Member>[]>(capabilities, policy, functionDefinition, withBlock), {
      maxLength: 2,
    }),
  })
  .map((parts) => ({ kind: 'agent', ...parts, span }))

const typeDefinition: Arbitrary<TypeDefinition> = fc
  .record({
    name,
    definition: fc.oneof<Arbitrary<TypeDefinition['definition']>[]>(
      name,
      parameters.map((fields) => ({ kind: 'struct', fields, span })),
    ),
  })
  .map((parts) => ({ kind: 'type', ...parts, span }))

function subBlock(kind: SubBlock['name'], entry: Arbitrary<Property>): Arbitrary<SubBlock> {
  return fc.array(entry, { maxLength: 2 }).map((all) => ({ kind: 'sub-block', name: kind, entries: all, span }))
}

const channel: Arbitrary<Channel> = fc
  .record({
    name,
    members: fc.array(
      fc.oneof<Arbitrary<Channel['members'][number]>[]>(
        property(either, fc.oneof(value, array)),
        policy,
        subBlock('data_classification', property(fc.constant(':'), name)),
      ),
      { maxLength: 2 },
    ),
  })
  .map((parts) => ({ kind: 'channel', ...parts, span }))

function withSubBlock(kind: 'search' | 'filter'): Arbitrary<Pick<Memory, 'name' | 'members'>> {
  return fc.record({
    name,
    members: fc.array(fc.oneof<Arbitrary<Property | SubBlock>[]>(bareEntry, subBlock(kind, bareEntry)), {
      maxLength: 2,
    }),
  })
}

const item: Arbitrary<Item> = fc.oneof<Arbitrary<Item>[]>(
  entries.map((all) => ({ kind: 'metadata', entries: all, span })),
  agent,
  policy,
  typeDefinition,
  functionDefinition,
  fc.record({ name, entries: plainEntries }).map((parts) => ({ kind: 'schedule', ...parts, span })),
  channel,
  withSubBlock('search').map((parts): Memory => ({ kind: 'memory', ...parts, span })),
  withSubBlock('filter').map((parts): Webhook => ({ kind: 'webhook', ...parts, span })),
)

export const source: Arbitrary<Source> = fc
  .array(item, { maxLength: 3 })
  .map((items) => ({ kind: 'source', items, span }))

/** A tree, or any part of one, without the places of its nodes. */
export function withoutSpans(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutSpans)
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([part]) => part !== 'span')
      .map(([part, inner]) => [part, withoutSpans(inner)]),
  )
}
