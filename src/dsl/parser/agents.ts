/** Agents, and the functions that agents and files may hold. */
import { called, described, isMark, isWord } from '../lexer/token.ts'
import type { Agent, Capabilities, FunctionDefinition, Member, Parameter, Property, With } from '../tree.ts'
import { readBraces } from './braces.ts'
import type { Cursor } from './cursor.ts'
import { readItemName, readParameters, readReturns } from './names.ts'
import { MEMBER_MISSES, meant } from './near-misses.ts'
import { readPolicy } from './policies.ts'
import { readArray } from './primary.ts'
import { readProperty } from './properties.ts'
import { readBlock } from './statements.ts'

const MEMBERS = ['capabilities', 'policy', 'function', 'with']
const FORM = 'agent name { capabilities = ["read"] }'

export function readAgent(cursor: Cursor): Agent {
  const { start } = cursor.next()
  const name = readItemName(cursor, 'agent', FORM)
  const parameters: readonly Parameter[] = cursor.is('(') ? readParameters(cursor) : []
  const returns = readReturns(cursor)
  const members: Member[] = []
  readBraces(cursor, {
    what: `the agent "${called(name)}"`,
    form: FORM,
    read: () => members.push(readMember(cursor)),
    starts: (index) => beginsMember(cursor, index),
  })
  return { kind: 'agent', name, parameters, returns, members, span: cursor.span(start) }
}

function beginsMember(cursor: Cursor, index: number): boolean {
  const [word, next] = [cursor.at(index), cursor.at(index + 1)]
  return (
    word.kind === 'word' &&
    MEMBERS.includes(word.text) &&
    (next.kind === 'word' || isMark(next, '=') || isMark(next, ':'))
  )
}

function readMember(cursor: Cursor): Member {
  switch (cursor.token.kind === 'word' ? cursor.token.text : '') {
    case 'capabilities':
      return readCapabilities(cursor)
    case 'policy':
      return readPolicy(cursor)
    case 'function':
      return readFunction(cursor)
    case 'with':
      return readWith(cursor)
    default:
      return refuseMember(cursor)
  }
}

function refuseMember(cursor: Cursor): never {
  const { token } = cursor
  if (isMark(token, ',') || isMark(token, ';')) {
    cursor.fail(`a member of an agent does not end with ${described(token)}`, {
      hint: 'Members follow each other as they are: with timeout = 5m {} policy name { allow: "tool" }',
    })
  }
  if (token.kind !== 'word') {
    cursor.fail(`a member of the agent is expected, and ${described(token)} stands there`, { hint: ACCEPTED })
  }
  cursor.fail(`an agent has no member ${described(token)}`, { code: 'E110', hint: () => hintFor(token.text) })
}

const ACCEPTED = 'An agent holds capabilities, policy, with and function'

function hintFor(word: string): string {
  const miss = Object.hasOwn(MEMBER_MISSES, word) ? MEMBER_MISSES[word] : undefined
  const near = meant(word, MEMBERS)
  return miss ?? (near === null ? ACCEPTED : `Did you mean "${near}"? ${ACCEPTED}`)
}

function readCapabilities(cursor: Cursor): Capabilities {
  const { start } = cursor.next()
  const hint = 'Write capabilities = ["read", "write"]'
  const separator = cursor.is(':') ? ':' : '='
  if (cursor.is(separator)) {
    cursor.next()
  } else {
    cursor.report(`"=" is missing behind "capabilities"`, { hint })
  }
  if (!cursor.is('[')) cursor.fail(`capabilities are a list, and ${described(cursor.token)} stands there`, { hint })
  const value = readArray(cursor)
  return { kind: 'capabilities', separator, value, span: cursor.span(start) }
}

const WITH = 'with sandbox = "docker", timeout = 5.minutes {}'

function readWith(cursor: Cursor): With {
  const { start } = cursor.next()
  if (holdsAttributes(cursor)) {
    cursor.fail('the attributes of "with" stand before its braces', { hint: `Write ${WITH}` })
  }
  const attributes: Property[] = []
  while (!cursor.is('{')) {
    attributes.push(readProperty(cursor, { separators: ['='], also: ['array'], example: WITH }))
  }
  const body = readBlock(cursor, 'the with-block')
  return { kind: 'with', attributes, body, span: cursor.span(start) }
}

/** `with { sandbox = "docker" }`: no statement, because nothing ends it. */
function holdsAttributes(cursor: Cursor): boolean {
  if (!cursor.is('{') || cursor.ahead().kind !== 'word') return false
  const separator = cursor.ahead(2)
  if (isMark(separator, ':')) return true
  const [value, next] = [cursor.ahead(3), cursor.ahead(4)]
  if (!isMark(separator, '=') || value.kind === 'mark' || isWord(value, 'if') || isWord(value, 'not')) return false
  // an operator or a semicolon goes on with a statement; a brace, a comma or another word ends a value that stands alone
  return isMark(next, '}') || isMark(next, ',') || (next.kind === 'word' && !isWord(next, 'in'))
}

export function readFunction(cursor: Cursor): FunctionDefinition {
  const { start } = cursor.next()
  const form = 'function name(input: String) -> String { … }'
  const name = readItemName(cursor, 'function', form)
  if (!cursor.is('(')) {
    cursor.fail(`a function needs its parameters, and ${described(cursor.token)} stands there`, {
      hint: `Write ${form}`,
    })
  }
  const parameters = readParameters(cursor)
  const returns = readReturns(cursor)
  const body = readBlock(cursor, `the function "${called(name)}"`)
  return { kind: 'function', name, parameters, returns, body, span: cursor.span(start) }
}
