/**
 * Models behind Anthropic's messages protocol. One streamed inference; the SDK builds the request (loaded at the first
 * one), and we read the reply.
 */
import type { World } from '../world/index.ts'
import { AnthropicReply } from './anthropic-reply.ts'
import { type EndpointOptions, endpointOf } from './endpoint.ts'
import { exchange } from './exchange.ts'
import type { Provider } from './port.ts'
import { cannotSend, wireRequest } from './request.ts'

export const ANTHROPIC_BASE_URL = 'https://api.anthropic.com/v1'

/**
 * What the SDK would otherwise do on its own: ask the server to stream arguments that it has not checked, and stand in
 * for structured output with an invented tool named `json`, which would then arrive here as a call of the model's.
 */
const PROVIDER_OPTIONS = { anthropic: { toolStreaming: false, structuredOutputMode: 'outputFormat' } }

export function anthropic(options: EndpointOptions, world: World): Provider {
  const endpoint = endpointOf(options, { name: 'anthropic', baseUrl: ANTHROPIC_BASE_URL })
  // Both spellings of a base URL are about, with the version and without; the path below it is always /v1/messages.
  const baseURL = endpoint.baseUrl.endsWith('/v1') ? endpoint.baseUrl : `${endpoint.baseUrl}/v1`
  return {
    name: endpoint.name,
    defaultModel: endpoint.model,
    countInput: () => null,
    async complete(conversation, inference, signal) {
      signal.throwIfAborted()
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      const target = { provider: endpoint.name, model: inference.model ?? endpoint.model }
      if (inference.response_format.type === 'json_object') {
        throw cannotSend(target, 'this protocol has no JSON replies without a schema')
      }
      const request = await wireRequest({
        target,
        conversation,
        options: inference,
        argumentsAs: 'value',
        providerOptions: PROVIDER_OPTIONS,
        // An absent key would make the SDK read the environment; an empty one is sent, so its header is taken off again.
        model: (fetch) =>
          createAnthropic({ baseURL, apiKey: endpoint.apiKey ?? '', headers: { ...endpoint.headers }, fetch })(
            target.model,
          ),
      })
      if (request.headers.get('x-api-key') === '') request.headers.delete('x-api-key')
      return await exchange(
        { target, request, limits: endpoint.limits, fold: new AnthropicReply(target) },
        world,
        signal,
      )
    },
  }
}
