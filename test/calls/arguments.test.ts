import { describe, expect, test } from 'vitest'
import { checkArguments } from '../../src/calls/index.ts'

const ask = (format: string, text: string): void =>
  checkArguments(
    { name: 'fetch', description: '', parameters: { type: 'object', properties: { at: { type: 'string', format } } } },
    { at: text },
  )

describe('the format of an argument is judged in a time that grows with its text', () => {
  const long = 200_000
  test.each([
    'uri',
    'uri-reference',
    'uri-template',
    'url',
    'email',
    'hostname',
    'date-time',
    'duration',
    'json-pointer',
    'ipv6',
    'uuid',
  ])('%s', (format) => {
    const texts = ['a', 'a.', '-', ':', '/', '{a,', '1Y', '%20'].flatMap((piece) => {
      const many = piece.repeat(long / piece.length)
      return [many, `http://${many}`, `http://${many}@`, `a@${many}`, `${many}\u0000`]
    })
    for (const text of texts) {
      try {
        ask(format, text)
      } catch (error) {
        expect(error).toMatchObject({ code: 'CALL_INVALID' })
      }
    }
  })
})

test.each(['http://example.org/a?b=c', 'https://[::1]:8080/', 'ftp://example.org'])('%s is a url', (text) => {
  expect(() => ask('url', text)).not.toThrow()
})

test.each(['example.org', 'http://', 'javascript:alert(1)', 'http://a b/', ''])('%j is no url', (text) => {
  expect(() => ask('url', text)).toThrow('breaks the rule')
})

test('a refusal says which rule is broken, and ends like every message of ours', () => {
  expect(() => ask('url', 'no url')).toThrow(/ breaks the rule .*[^.]$/)
})
