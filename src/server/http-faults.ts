/** The Faults that the HTTP door itself finds: in the bytes, the header, the path and the body of a request. */
import { Fault } from '../core/index.ts'

/** What never became a request: bytes that are no HTTP, a header beyond the limit, a request that did not end. */
export function brokenRequest(errno: string | undefined): Fault {
  if (errno === 'HPE_HEADER_OVERFLOW') {
    return new Fault('HEADERS_TOO_LARGE', {
      message: 'Cannot read the request: its header is too large',
      hint: 'Send fewer or shorter header fields',
    })
  }
  if (errno === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new Fault('REQUEST_TIMEOUT', {
      message: 'Cannot read the request: it did not arrive in time',
      hint: 'Send the request without pauses',
    })
  }
  return malformed('request')
}

export function shuttingDown(): Fault {
  return new Fault('SHUTTING_DOWN', {
    message: 'Cannot serve the request: the server is shutting down',
    hint: 'Try again when it is back',
  })
}

export function gone(): Fault {
  return new Fault('CONNECTION_LOST', { message: 'Cannot answer the request: the client is gone' })
}

export function malformed(what: string): Fault {
  return new Fault('INVALID_HTTP', {
    message: `Cannot read the request: its ${what} is not well-formed HTTP`,
    hint: 'Use an HTTP/1.1 client',
  })
}

export function badPath(): Fault {
  return new Fault('INVALID_PATH', {
    message: 'Cannot read the path: it is malformed or too long',
    hint: 'Encode special characters of the path as UTF-8 with percent signs',
  })
}

export function tooLarge(): Fault {
  return new Fault('PAYLOAD_TOO_LARGE', {
    message: 'Cannot read the body: it is larger than this route accepts',
    hint: 'Send less in one request',
  })
}

export function unsupported(): Fault {
  return new Fault('UNSUPPORTED_MEDIA_TYPE', {
    message: 'Cannot read the body: it is not application/json',
    hint: 'Send "Content-Type: application/json"',
  })
}

export function emptyBody(): Fault {
  return new Fault('INVALID_JSON', { message: 'Cannot read the body: it is empty', hint: 'Send a JSON object' })
}
