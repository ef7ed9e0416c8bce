/** An HTTP adapter for hybrid applications in tests: its server answers every request with the same text. */
import http from 'node:http'
import { AbstractHttpAdapter } from '@nestjs/core'

type HttpAdapter = AbstractHttpAdapter<http.Server>

/** Nest's base class, without the members that only applications with routes need. */
const Adapter = AbstractHttpAdapter as unknown as new (
  instance: object
) => Pick<HttpAdapter, 'getHttpServer' | 'setHttpServer'>

/** Makes an adapter that serves no routes. */
export function stubHttpAdapter(): HttpAdapter {
  return new StubHttpAdapter() as unknown as HttpAdapter
}

class StubHttpAdapter extends Adapter {
  constructor() {
    super({ use() {} })
  }

  initHttpServer(): void {
    this.setHttpServer(http.createServer((_request, response) => response.end('http')))
  }

  listen(port: string | number, ...rest: unknown[]): http.Server {
    const callback = rest.find((each) => typeof each === 'function') as (() => void) | undefined
    return this.getHttpServer().listen(Number(port), '127.0.0.1', callback)
  }

  close(): Promise<void> {
    const server = this.getHttpServer()
    return new Promise((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  }

  getType(): string {
    return 'stub'
  }

  registerParserMiddleware(): void {}

  setErrorHandler(): void {}

  setNotFoundHandler(): void {}
}
