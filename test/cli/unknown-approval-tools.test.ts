import { mkdir, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { unknownApprovalTools } from '../../src/cli/approvals/unknown-approval-tools.ts'
import { temporaryFolder } from '../support/folder.ts'
import { world } from './support.ts'

const SERVERS = `[servers.desk]
command = "node"
expose = ["notes_create"]

[servers.open]
command = "node"
expose = ["*"]
`

test('a name in the list of calls that need a person is told when no tool has it, with the name that was meant', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.of('.symbiont'), { mode: 0o700 })
  await writeFile(folder.of('mcp-config.toml'), SERVERS)
  const listed = [
    'sytem_health',
    'system_health',
    'delegate',
    'http_request',
    'mcp__desk__notes_create',
    'mcp__desk__notes_delete',
    'mcp__open__anything', // nobody knows yet what it offers
    'sytem_health',
  ]
  const state = 'and names are exact, so no call is held for it'
  expect(await unknownApprovalTools(world, folder.path, listed)).toEqual([
    {
      name: 'sytem_health',
      problem: `approvals.tools: no tool is called "sytem_health", ${state}. Did you mean "system_health"?`,
    },
    {
      name: 'mcp__desk__notes_delete',
      problem: `approvals.tools: no tool is called "mcp__desk__notes_delete", ${state}`,
    },
  ])
  expect(await unknownApprovalTools(world, folder.path, [])).toEqual([])
})
