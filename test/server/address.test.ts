import { describe, expect, test } from 'vitest'
import { chargedUnit, clientAddress, isLoopback, parseBlocks } from '../../src/server/address.ts'

describe('clientAddress()', () => {
  const trusted = parseBlocks(['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'])
  test.each([
    ['a peer that is not trusted', '203.0.113.9', '1.1.1.1', '203.0.113.9'],
    ['IPv4 inside IPv6', '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['a trusted peer without headers', '10.0.0.1', undefined, '10.0.0.1'],
    ['one hop', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['a forged entry on the left', '10.0.0.1', '6.6.6.6, 203.0.113.9', '203.0.113.9'],
    ['a chain of trusted proxies', '10.0.0.1', '6.6.6.6, 203.0.113.9, 192.0.2.7, 10.9.9.9', '203.0.113.9'],
    ['nobody but trusted ones', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['ports and brackets', '10.0.0.1', '203.0.113.9:4711, [2001:db8::1]:80', '203.0.113.9'],
    ['IPv6', '2001:db8::1', '2001:DB9:0:0::5', '2001:db9:0:0:0:0:0:5'],
    ['what is no address, written by a trusted proxy', '10.0.0.1', 'unknown', null],
    ['garbage left of the client', '10.0.0.1', '<script>, 203.0.113.9', '203.0.113.9'],
    ['a peer that is no address', 'a-socket', undefined, null],
    ['no peer at all', undefined, '203.0.113.9', null],
  ])('%s', (_, peer, forwarded, expected) => {
    expect(clientAddress(peer, { 'x-forwarded-for': forwarded }, trusted)).toBe(expected)
  })

  test('X-Real-IP counts only where X-Forwarded-For is absent', () => {
    expect(clientAddress('10.0.0.1', { 'x-real-ip': '203.0.113.9' }, trusted)).toBe('203.0.113.9')
    const both = { 'x-forwarded-for': '203.0.113.8', 'x-real-ip': '203.0.113.9' }
    expect(clientAddress('10.0.0.1', both, trusted)).toBe('203.0.113.8')
  })
})

test.each([
  '10.0.0.0/33',
  '::/129',
  '10.0.0/8',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  'example.org',
  '',
  '1::2::3',
  '1:2:3',
  '010.0.0.1',
])('%j is neither an address nor a block', (text) => {
  expect(() => parseBlocks([text])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})

test.each([
  ['10.1.255.255', '10.1.0.0/16', true],
  ['10.2.0.0', '10.1.0.0/16', false],
  ['203.0.113.127', '203.0.113.0/25', true],
  ['203.0.113.128', '203.0.113.0/25', false],
  ['8.8.8.8', '0.0.0.0/0', true],
  ['2001:db8::1', '0.0.0.0/0', false],
  ['2001:db8:8000::1', '2001:db8::/33', false],
])('%s in %s is %s', (address, block, isInside) => {
  const seen = clientAddress(address, { 'x-forwarded-for': '6.6.6.6' }, parseBlocks([block]))
  expect(seen === '6.6.6.6').toBe(isInside)
})

test('an IPv6 client is charged by its /64, an IPv4 client by its address', () => {
  expect(chargedUnit('2001:db8:0:1:aaaa::1')).toBe(chargedUnit('2001:db8:0:1:bbbb::2'))
  expect(chargedUnit('2001:db8:0:1::1')).not.toBe(chargedUnit('2001:db8:0:2::1'))
  expect(chargedUnit('203.0.113.9')).toBe('203.0.113.9')
})

test.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['localhost.example.org', false],
  ['128.0.0.1', false],
])('%s is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})
