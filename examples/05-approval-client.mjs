/**
 * An MCP client for people, for the guide 05-approval.md: one session, and a call for each line that you type. What an agent's
 * CLI would send looks the same.
 *
 *   NAME {"argument": "value"}              a call
 *   with HANDLE NAME {"argument": "value"}  the same call again, with the handle of an approval
 *
 * Started with the address of /mcp; the token comes from SYMBI_TOKEN. The end of the input (Ctrl-D) ends the session.
 */
import { createInterface } from 'node:readline'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const [, , address = 'http://127.0.0.1:8080/mcp'] = process.argv
const headers = { authorization: `Bearer ${process.env.SYMBI_TOKEN ?? ''}` }
const transport = new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } })
const client = new Client({ name: 'approval-example', version: '1.0.0' })
await client.connect(transport)
const { tools } = await client.listTools()
console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`)

const input = createInterface({ input: process.stdin, output: process.stdout, prompt: 'call> ' })
input.prompt()
for await (const line of input) {
  if (line.trim() !== '') await call(line).catch((error) => console.log(String(error)))
  input.prompt()
}
await transport.terminateSession()
await client.close()

/** @param {string} line */
async function call(line) {
  const [, handle, name = '', args = ''] = /^\s*(?:with (\S+) )?(\S+)\s*(.*)$/.exec(line) ?? []
  const held = handle === undefined ? {} : { _meta: { 'symbi/approval': handle } }
  const { content } = await client.callTool({ name, arguments: JSON.parse(args || '{}'), ...held })
  for (const part of /** @type {{ text?: string }[]} */ (content)) console.log(part.text)
}
