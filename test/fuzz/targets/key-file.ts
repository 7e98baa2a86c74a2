/** The file of API keys: it says clearly which keys there are, or is refused as a whole. */
import { ApiKeys } from '../../../src/access/index.ts'
import { keyFileText, readKeyFile } from '../../../src/access/key-file.ts'
import { canonical, isFault, isStoredId } from '../../../src/core/index.ts'
import { AGENT, settingsFor } from '../../support/key-files.ts'
import { fileWorld } from '../file-world.ts'
import { answerOf, must, plain, pure, type Target } from '../target.ts'

const record = {
  key_id: 'a',
  key_hash: '$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA',
  agent_scope: null,
  description: 'x',
  created_at: '2026-01-01',
  revoked: false,
}

export const keyFile: Target = {
  name: 'key-file',
  property:
    'keys are those of the file, each id once and with agents that can be; members that are not ours survive a rewrite; everything else is KEY_FILE_INVALID, and no made-up token gets in',
  seeds: [
    JSON.stringify([record, { ...record, key_id: 'b', agent_scope: [AGENT], other: { kept: [1] } }]),
    JSON.stringify([{ key_id: 'only', key_hash: 'h' }]),
    JSON.stringify([record, record]),
    JSON.stringify([{ ...record, agent_scope: ['no id'] }]),
    '[]',
    '{}',
  ],
  words: [
    '"key_id":',
    '"key_hash":',
    '"agent_scope":',
    '"revoked":true',
    '"description":',
    '"created_at":',
    'null',
    AGENT,
    '"__proto__":',
    '"constructor":',
    '$argon2id$v=19$m=8,t=1,p=1$',
  ],
  bytesMax: 4096,
  steps: { fixed: 5000, perByte: 60 },
  open: () => pure(check),
}

async function check(input: Uint8Array): Promise<void> {
  const world = fileWorld(input)
  const read = await answerOf(() => readKeyFile('/keys.json', world))
  if (read.kind === 'Fault') {
    must(isFault(read.fault, 'KEY_FILE_INVALID'), 'a refusal is KEY_FILE_INVALID')
    return
  }
  const { records, raw } = read.value
  plain(raw)
  must(records.size === raw.length, 'each record is one key')
  for (const [id, { key_id, agent_scope, revoked }] of records) {
    must(id === key_id && id !== '' && typeof revoked === 'boolean', 'a key is found under its id')
    must(agent_scope === null || agent_scope.every(isStoredId), 'a scope holds ids of agents')
  }
  const again = await readKeyFile('/keys.json', fileWorld(Buffer.from(keyFileText(raw))))
  must(canonical(again.raw) === canonical(raw), 'a rewrite keeps every member')
  const keys = await ApiKeys.open(settingsFor('/keys.json'), world, () => undefined)
  for (const token of ['x', 'constructor.x', '__proto__.x'])
    must((await keys.authenticate(token)) === null, 'a made-up token is nobody')
}
