/**
 * An honest tool server, on the official SDK: over stdio when it is run, over HTTP when it is started from a test.
 */
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

function makeServer() {
  const server = new McpServer({ name: 'honest', version: '1.0.0' })
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: { a: z.number(), b: z.number(), id: z.uuid().optional() },
      outputSchema: { sum: z.number() },
    },
    async ({ a, b }) => ({ content: [{ type: 'text', text: `${a + b}` }], structuredContent: { sum: a + b } }),
  )
  return server
}

/** Each session has a server of its own. */
export async function startSdkServer() {
  /** @type {Map<string, StreamableHTTPServerTransport>} */
  const sessions = new Map()
  const http = createServer(async (request, answer) => {
    const known = sessions.get(String(request.headers['mcp-session-id']))
    if (known !== undefined) return void (await known.handleRequest(request, answer))
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => `session-${sessions.size}`,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    })
    await makeServer().connect(/** @type {any} */ (transport))
    await transport.handleRequest(request, answer)
  })
  await new Promise((resolve) => http.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (http.address())
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve(undefined))
        http.closeAllConnections()
      }),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await makeServer().connect(new StdioServerTransport())
