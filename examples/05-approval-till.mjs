/**
 * A tool server for the guide 05-approval.md, such as somebody else could have written: it knows nothing of policies and of
 * approvals. Each payment is a line in a file, so that you can count what really happened.
 */
import { appendFile } from 'node:fs/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'till', version: '1.0.0' })
const inputSchema = { order: z.string().max(40), cents: z.int().positive() }
server.registerTool('pay', { description: 'Pays an order back', inputSchema }, async ({ order, cents }) => {
  await appendFile('payments.txt', `${order} ${cents}\n`)
  return { content: [{ type: 'text', text: `paid ${cents} cents for ${order}` }] }
})
await server.connect(new StdioServerTransport())
