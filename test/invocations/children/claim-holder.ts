/** A child process: opens a claim when it is told to, says what it got, and holds it until it is killed. */
import { createInterface } from 'node:readline'
import { isFault } from '../../../src/core/index.ts'
import { type Existing, type Fresh, fileClaims } from '../../../src/invocations/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { requestOf, started, toolCall, write } from '../../support/invocation-runs.ts'

const [project = '', id = '', run = ''] = process.argv.slice(2)
const claims = fileClaims(nodeWorld(), project)
process.stdout.write('ready\n')
for await (const _ of createInterface({ input: process.stdin })) {
  const state = await open()
  if (state.kind === 'Fresh' && run === 'run') await write(state.owner.log, [started, ...toolCall('missing')])
  const run_id = state.kind === 'Fresh' ? state.owner.audit.run_id : null
  process.stdout.write(`${JSON.stringify({ kind: state.kind, run_id })}\n`)
}

/** A machine at work can keep the store lock from us for two seconds; then the same id is tried again, as callers do. */
async function open(): Promise<Fresh | Existing> {
  for (;;) {
    try {
      return await claims.open(requestOf({ id }), new AbortController().signal)
    } catch (error) {
      if (!isFault(error, 'STORAGE_BUSY')) throw error
    }
  }
}
