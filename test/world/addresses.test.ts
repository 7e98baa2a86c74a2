import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reachOf } from '../../src/world/index.ts'

test.each([
  [
    'public',
    ['1.1.1.1', '8.8.8.8', '93.184.215.14', '172.32.0.1', '100.63.255.255', '2606:4700::1111', '2a00:1450:4001::1'],
  ],
  [
    'private',
    [
      '127.0.0.1',
      '127.255.255.255',
      '10.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '100.64.0.1',
      '::1',
      'fd12::1',
    ],
  ],
  [
    'never',
    [
      '0.0.0.0',
      '169.254.169.254',
      '224.0.0.1',
      '255.255.255.255',
      '192.0.2.1',
      '198.18.0.1',
      '100.100.100.200',
      '168.63.129.16',
    ],
  ],
  [
    'never',
    ['::', 'fe80::1', 'fe80::1%eth0', 'ff02::1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '64:ff9b::7f00:1'],
  ],
  [
    'never',
    [
      '2002:7f00:1::1',
      '2001:0:1::1',
      '2001:db8::1',
      'fd00:ec2::254',
      'fd20:ce::254',
      'fd00:c1::a9fe:a9fe',
      'fec0::1',
      '100::1',
      '4000::1',
    ],
  ],
  ['never', ['', 'localhost', '127.1', '2130706433', '0x7f.1', '127.0.0.1 ', '[::1]', '1.2.3.4.5']],
] as const)('%s: %j', (reach, addresses) => {
  for (const address of addresses) expect(`${address}: ${reachOf(address)}`).toBe(`${address}: ${reach}`)
})

test('no form of IPv6 that carries an IPv4 address is public', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.constantFrom('::ffff:', '::', '64:ff9b::', '::ffff:0:'), (v4, prefix) => {
      expect(reachOf(`${prefix}${v4}`)).not.toBe('public')
    }),
  )
})
