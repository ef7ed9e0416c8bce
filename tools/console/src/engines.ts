/** Transports without an engine between the two ends. */
const DIRECT: ReadonlySet<string> = new Set(['', 'tcp', 'memory', 'websocket', 'grpc', 'connect'])

/** Whether messages of a transport, or of a store, go by an engine, which is a box of its own on the map. */
export function isEngine(transport: string): boolean {
  return !DIRECT.has(transport)
}
