/**
 * A quick look at whether the package lives on the Node that runs this file: its four subpaths, a new project, one turn,
 * and the verification of what the turn left. `smoke.mjs` runs it on the Nodes that it fetched.
 */
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeWorld, openRuntime, scripted, VERSION } from 'symbi-runtime'
import { parseId, parsePublicKey, verifyRun } from 'symbi-runtime/journal'
import { readBrokerCall } from 'symbi-runtime/session'
import { recordedTool } from 'symbi-runtime/testing'

const BIN = fileURLToPath(new URL('../bin/symbi.js', import.meta.url))

/** @param {readonly string[]} args */
function symbi(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], { encoding: 'utf8' })
  assert.equal(status, 0, `symbi ${args[0]} left with ${status}: ${stderr}`)
  return stdout
}

const folder = mkdtempSync(join(tmpdir(), 'symbi-smoke-'))
try {
  const project = join(folder, 'project')
  assert.match(symbi('--version'), new RegExp(VERSION))
  symbi('init', '--project', project, '--no-interact', '--json')

  assert.throws(() => readBrokerCall({ call_id: 'a', name: 'look', arguments: {}, approval: 'yes' }), /"approval"/)

  const world = nodeWorld()
  /** @type {import('symbi-runtime').Script} */
  const script = {
    model: 'smoke',
    rules: [
      {
        when: { last_role: 'user' },
        reply: {
          tool_calls: [
            { id: 'call-1', name: 'system_health', arguments: {} },
            { id: 'call-2', name: 'unpermitted', arguments: {} },
          ],
        },
      },
      { when: {}, reply: { content: 'The runtime says: {{last}}' } },
    ],
  }
  const unpermitted = recordedTool('unpermitted')
  const runtime = await openRuntime({ project, provider: await scripted({ script }, world), tools: [unpermitted] })
  const { content, audit } = await runtime.ask('Inspect system health')
  await runtime.close()
  assert.match(content, /^The runtime says: /)
  assert.deepEqual(unpermitted.ran, [], 'policy keeps what it does not permit from running')

  const key = parsePublicKey(audit.public_key)
  const entries = await verifyRun(world, audit.path, key, parseId('run', audit.run_id))
  assert.equal(entries.at(-1)?.event.kind, 'Terminated')
  symbi('audit', 'verify', '--project', project)
  process.stdout.write(`ok: Node ${process.versions.node}, ${entries.length} entries verified\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
