/** The README of a project, and the commands that the program prints at the end. */
import { isEngine, KEEPS_EVENTS_IN_FILE, NODE_WITH_SQLITE, type Options, type Transport } from './options.ts'

const RUNTIME = { bun: 'Bun', node: 'Node', deno: 'Deno' } as const
const TRANSPORT = {
  tcp: 'TCP',
  nats: 'NATS',
  redis: 'Redis',
  rabbitmq: 'RabbitMQ',
  mqtt: 'MQTT',
  kafka: 'Kafka',
  grpc: 'gRPC'
} as const

/**
 * When no container is needed, by transport. `dev` starts brokers that are installed; RabbitMQ and Kafka must be
 * running already.
 */
const INSTEAD = {
  nats: 'nats-server is installed',
  redis: 'redis-server or valkey-server is installed',
  rabbitmq: 'RabbitMQ runs on port 5672',
  mqtt: 'mosquitto is installed',
  kafka: 'Kafka 4 runs on port 9092'
} as const
/** The addresses of both services, as rows of a table. */
const addresses = (orders: number, stock: number) =>
  `| \`ORDERS_HOST\`, \`ORDERS_PORT\` | \`localhost\`, \`${orders}\` | address on which orders listens, and which its callers use |
| \`STOCK_HOST\`, \`STOCK_PORT\` | \`localhost\`, \`${stock}\` | address on which stock listens, and which its callers use |`

/** The environment variables that say where callers find the services, as rows of a table. */
const WHERE: Readonly<Record<Transport, string>> = {
  tcp: addresses(4_000, 4_001),
  grpc: addresses(50_051, 50_052),
  nats: '| `NATS_URL` | `nats://localhost:4222` | the NATS server between services and their callers |',
  redis: '| `REDIS_URL` | `redis://localhost:6379` | the Redis server between services and their callers |',
  rabbitmq:
    '| `RABBITMQ_URL` | `amqp://orders:orders@localhost` | the RabbitMQ server between services and their callers |',
  mqtt: '| `MQTT_URL` | `mqtt://localhost:1883` | the MQTT server between services and their callers |',
  kafka:
    '| `KAFKA_BROKERS` | `localhost:9092` | Kafka brokers between services and their callers, with commas between |'
}

/** A description of a project in a few words. */
export function summary({ runtime, transport, web }: Options): string {
  return `two services, a gateway${web ? ', a page' : ''} and a client, on ${RUNTIME[runtime]} over ${TRANSPORT[transport]}`
}

/** The command that runs a script of `package.json`, by runtime. */
const RUN = { bun: 'bun run', node: 'npm run', deno: 'deno task' } as const
const INSTALL = { bun: 'bun install', node: 'npm install', deno: 'deno install' } as const
const TEST = { bun: 'bun test', node: 'npm test', deno: 'deno task test' } as const
const LOCK = { bun: 'bun.lock', node: 'package-lock.json', deno: 'deno.lock' } as const

/** The commands to run after the project is created, up to a first answer. */
export function firstCommands({ runtime, transport, web }: Options): readonly string[] {
  const run = RUN[runtime]
  return [
    INSTALL[runtime],
    ...(isEngine(transport)
      ? [`docker compose up --detach ${transport}   # not needed where ${INSTEAD[transport]}`]
      : []),
    `${run} dev   # then open ${web ? 'http://localhost:3001' : 'http://localhost:3000/openapi'}`
  ]
}

/** The rows of the README for the files of the web page. */
const WEB_FILES = `| \`src/page.ts\` | the page, in the browser: a client with the types of the service |
| \`src/door.ts\` | the patterns of orders that web pages may call |
| \`src/assets.ts\`, \`src/web.ts\` | code that bundles and serves the page in the process of orders; the script \`web\` serves the page alone |
`

/** The rows of the README for the files of gRPC. */
const GRPC_FILES = `| \`src/orders.proto\`, \`src/stock.proto\` | the services for programs in other languages; the script \`proto\` writes them |
| \`src/*.proto.json\` | the numbers of their fields, which are never used again |
| \`src/contracts.ts\` | the services of which they are made |
`

/** The row for the file with durable events. */
const EVENTS_FILE =
  "| `EVENTS_FILE` | `stock.db` | the file with stock's durable events; `dev` keeps it in `.elysia-microservices` |\n"

const WEB_PORT = '| `WEB_PORT` | `3001` | the page |\n'

/** Writes the README of a project. */
export function readme(options: Options): string {
  const { name, runtime, transport, web } = options
  const run = RUN[runtime]
  const lock = LOCK[runtime]
  const where = WHERE[transport]
  const isInFile = KEEPS_EVENTS_IN_FILE.includes(transport)
  const stored = isInFile
    ? `stock keeps it in a file${runtime === 'node' ? `, with the SQLite of Node ${NODE_WITH_SQLITE} or later` : ''}`
    : `${TRANSPORT[transport]} keeps it`
  return `# ${name}

Orders: ${summary(options)}, made with [elysia-microservices](https://www.npmjs.com/package/elysia-microservices).

\`\`\`sh
${firstCommands(options).join('\n')}
\`\`\`

\`${run} dev\` starts services${web ? ', page' : ''} and gateway, restarts a service when you edit it, and prints the address of a page that shows all services; Ctrl-C ends everything. In another terminal, \`${run} client\` places an order with a typed client, and this command places an order over HTTP:

\`\`\`sh
curl localhost:3000/orders --json '{ "item": "tea", "quantity": 2 }'
\`\`\`

\`${TEST[runtime]}\` needs no port. \`docker compose up --build\` starts everything in containers, with the gateway on port 3000${web ? ' and the page on 3001' : ''}; for this, commit \`${lock}\`, which the installation writes.

| file | |
| --- | --- |
| \`src/orders.ts\`, \`src/stock.ts\` | the services with their patterns and events; orders calls stock |
| \`src/schemas.ts\` | schemas of the data, checked by the services and shown by the gateway |
| \`src/routes.ts\` | HTTP routes that call orders |
| \`microservices.config.ts\` | the programs that \`${run} dev\` runs |
| \`src/transport.ts\` | the transport, and the store of durable events |
${transport === 'grpc' ? GRPC_FILES : ''}| \`src/service.ts\`, \`src/stock-service.ts\`, \`src/gateway.ts\`, \`src/client.ts\` | the programs |
${web ? WEB_FILES : ''}| \`src/*.test.ts\` | tests of the services and of the routes |

| variable | default | |
| --- | --- | --- |
${where}
${isInFile ? EVENTS_FILE : ''}| \`HEALTH_PORT\`, \`STOCK_HEALTH_PORT\` | \`8081\`, \`8082\` | where orders and stock answer \`/livez\`, \`/readyz\` and \`/healthz\` |
| \`PORT\` | \`3000\` | HTTP of the gateway |
${web ? WEB_PORT : ''}
Services and gateway end with SIGTERM or SIGINT, after the work in flight. The event \`stock.ship\` is durable: ${stored} until its handler has succeeded, also over a crash. The services keep their own data in memory: add a database before you start a second process of a service.
`
}
