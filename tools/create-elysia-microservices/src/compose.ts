/** The file `compose.yaml` of a project: the engine, as `template/` has it, and the programs of the project. */
import { type Engine, isEngine, KEEPS_EVENTS_IN_FILE, type Options } from './options.ts'

/** The volume of the file in which `stock` keeps its durable events. */
const FOLDER = '/data'
const VOLUME = 'stock-events'

/** The variables by which the programs find the engine in its container. */
const ENGINE_AT: Readonly<Record<Engine, string>> = {
  nats: "NATS_URL: 'nats://nats:4222'",
  redis: "REDIS_URL: 'redis://redis:6379'",
  rabbitmq: "RABBITMQ_URL: 'amqp://orders:orders@rabbitmq'",
  mqtt: "MQTT_URL: 'mqtt://mqtt:1883'",
  kafka: "KAFKA_BROKERS: 'kafka:29092'"
}

/** The variables by which programs find each other without an engine. */
const DIRECT = {
  stock: ['STOCK_HOST: 0.0.0.0'],
  orders: ['ORDERS_HOST: 0.0.0.0', 'STOCK_HOST: stock'],
  gateway: ['ORDERS_HOST: orders']
} as const

/**
 * Writes the file.
 * @param engine the part of the engine; empty if there is none
 */
export function compose({ transport, web }: Options, engine: string): string {
  const isInFile = KEEPS_EVENTS_IN_FILE.includes(transport)
  const environmentOf = (name: keyof typeof DIRECT, ...more: readonly string[]) =>
    `environment: { ${[...(isEngine(transport) ? [ENGINE_AT[transport]] : DIRECT[name]), ...more].join(', ')} }`
  const after = (...names: readonly string[]) =>
    names.length === 0
      ? []
      : [`depends_on: { ${names.map((name) => `${name}: { condition: service_healthy }`).join(', ')} }`]
  const first = isEngine(transport) ? [transport] : []
  const programs = {
    stock: [
      'build: { context: ., target: stock }',
      environmentOf('stock', ...(isInFile ? [`EVENTS_FILE: ${FOLDER}/stock.db`] : [])),
      ...(isInFile ? [`volumes: ['${VOLUME}:${FOLDER}'] # its durable events outlive the container`] : []),
      ...after(...first),
      'stop_grace_period: 15s # more than the 10 s in which work in flight may end'
    ],
    orders: [
      `build: { context: ., target: ${web ? 'web' : 'service'} }`,
      environmentOf('orders'),
      ...(web ? ["ports: ['3001:3001'] # the page"] : []),
      ...after(...first, 'stock'),
      'stop_grace_period: 15s'
    ],
    gateway: [
      'build: { context: ., target: gateway }',
      environmentOf('gateway'),
      "ports: ['3000:3000']",
      ...after('orders'),
      'stop_grace_period: 15s'
    ]
  }
  const services = Object.entries(programs).map(
    ([name, lines]) => `  ${name}:\n${lines.map((line) => `    ${line}\n`).join('')}`
  )
  const volumes = isInFile ? [`volumes: { ${VOLUME}: {} }\n`] : []
  // No port of the services is published: only this network reaches them.
  return [
    engine === '' ? `services:\n${services[0]}` : `${engine}\n${services[0]}`,
    ...services.slice(1),
    ...volumes
  ].join('\n')
}

/** Adds the image of the program with the page to a Dockerfile: like that of the gateway, on another port. */
export function withWebImage(dockerfile: string): string {
  const gateway = dockerfile.slice(dockerfile.indexOf('FROM app AS gateway'))
  return `${dockerfile}\n${gateway.replaceAll('gateway', 'web').replaceAll('PORT', 'WEB_PORT').replaceAll('3000', '3001')}`
}
