/**
 * Models behind the chat-completions protocol: OpenAI, OpenRouter, a local Ollama, any gateway. One streamed inference;
 * the SDK builds the request (loaded at the first one), and we read the reply.
 */
import type { World } from '../world/index.ts'
import { type Endpoint, type EndpointOptions, endpointOf } from './endpoint.ts'
import { exchange } from './exchange.ts'
import { OpenAiReply } from './openai-reply.ts'
import type { Provider } from './port.ts'
import { wireRequest } from './request.ts'

export const OPENAI_BASE_URL = 'https://api.openai.com/v1'

export function openAiCompatible(options: EndpointOptions, world: World): Provider {
  const endpoint = endpointOf(options, { name: 'openai-compatible', baseUrl: OPENAI_BASE_URL })
  return {
    name: endpoint.name,
    defaultModel: endpoint.model,
    countInput: () => null,
    async complete(conversation, inference, signal) {
      signal.throwIfAborted()
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const target = { provider: endpoint.name, model: inference.model ?? endpoint.model }
      const request = await wireRequest({
        target,
        conversation,
        options: inference,
        argumentsAs: 'text',
        model: (fetch) =>
          createOpenAICompatible({
            name: 'openaiCompatible',
            baseURL: endpoint.baseUrl,
            headers: { ...endpoint.headers },
            includeUsage: true,
            supportsStructuredOutputs: true,
            fetch,
            ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
            ...(isOpenAi(endpoint) ? { transformRequestBody: forOpenAi } : {}),
          })(target.model),
      })
      return await exchange({ target, request, limits: endpoint.limits, fold: new OpenAiReply(target) }, world, signal)
    },
  }
}

function isOpenAi(endpoint: Endpoint): boolean {
  return new URL(endpoint.baseUrl).hostname === 'api.openai.com'
}

type Body = Record<string, unknown>

/** OpenAI itself has renamed the token limit, and its reasoning models refuse the old name and any temperature. */
function forOpenAi({ max_tokens, temperature, ...body }: Body): Body {
  const reasons = /^(?:o\d|gpt-5)/.test(String(body.model)) && !String(body.model).includes('chat')
  return { ...body, max_completion_tokens: max_tokens, ...(reasons ? {} : { temperature }) }
}
