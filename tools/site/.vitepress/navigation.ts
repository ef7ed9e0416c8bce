/** The pages by topic, as the sidebar shows them. The build fails if a page is missing here. */
import type { DefaultTheme } from 'vitepress'

const page = (text: string, name: string): DefaultTheme.SidebarItem => ({ text, link: `/${name}` })

export const TOPICS: DefaultTheme.SidebarItem[] = [
  {
    text: 'Start',
    items: [
      page('Getting started', 'getting-started'),
      page('One command', 'dev'),
      page('Tutorial', 'tutorial'),
      page('Recipes', 'recipes'),
      page('For those who decide', 'deciding'),
      page('From NestJS', 'migration-from-nest'),
      page('Nest: everyday things', 'nest-everyday'),
      page('From tRPC', 'migration-from-trpc'),
      page('Runtimes', 'runtimes')
    ]
  },
  {
    text: 'Services',
    items: [
      page('Services', 'services'),
      page('Patterns and messages', 'patterns'),
      page('Answers and streams', 'streams'),
      page('Schemas', 'schemas'),
      page('Hooks', 'hooks'),
      page('Events', 'events'),
      page('Controllers', 'controllers')
    ]
  },
  {
    text: 'Callers',
    items: [
      page('Clients', 'clients'),
      page('Types', 'types'),
      page('Errors', 'errors'),
      page('Gateway', 'gateway'),
      page('Pages as clients', 'websocket'),
      page('gRPC', 'grpc'),
      page('Other languages', 'other-languages'),
      page('Protocol Buffers', 'protobuf'),
      page('Testing', 'testing')
    ]
  },
  {
    text: 'Brokers and storage',
    items: [
      page('NATS', 'nats'),
      page('Redis', 'redis'),
      page('RabbitMQ', 'rabbitmq'),
      page('MQTT', 'mqtt'),
      page('Kafka', 'kafka'),
      page('Durable events', 'durable-events'),
      page('Events in a file', 'sqlite'),
      page('Events in PostgreSQL', 'postgres'),
      page('Later and every day', 'later'),
      page('Outbox and inbox', 'outbox'),
      page('How to write an engine', 'engines')
    ]
  },
  {
    text: 'Production',
    items: [
      page('Checklist', 'production'),
      page('Limits and overload', 'limits'),
      page('In front of a database', 'databases'),
      page('Connections and retries', 'connections'),
      page('Deadlines and breakers', 'deadlines'),
      page('Stopping', 'stopping'),
      page('Several processes', 'processes'),
      page('Many servers', 'scaling'),
      page('Security', 'security'),
      page('Observability', 'observability'),
      page('Figures and logs', 'figures'),
      page('Faults on purpose', 'faults')
    ]
  },
  {
    text: 'Figures',
    items: [
      page('Performance', 'performance'),
      page('How it is tested', 'torture'),
      page('Torture results', 'torture-results')
    ]
  },
  {
    text: 'Packages',
    collapsed: true,
    items: [
      page('elysia-microservices', 'packages/elysia-microservices'),
      page('create-elysia-microservices', 'tools/create-elysia-microservices'),
      page('nestjs', 'packages/nestjs'),
      page('engine', 'engines/engine'),
      page('engine-tests', 'engines/engine-tests'),
      page('nats', 'engines/nats'),
      page('rabbitmq', 'engines/rabbitmq'),
      page('mqtt', 'engines/mqtt'),
      page('kafka', 'engines/kafka'),
      page('redis', 'engines/redis'),
      page('sqlite', 'engines/sqlite'),
      page('postgres', 'engines/postgres'),
      page('outbox', 'packages/outbox'),
      page('protobuf', 'packages/protobuf'),
      page('telemetry', 'packages/telemetry'),
      page('workers', 'packages/workers'),
      page('cli', 'tools/cli'),
      page('console', 'tools/console'),
      page('tcp', 'packages/tcp'),
      page('websocket', 'packages/websocket'),
      page('connect', 'packages/connect'),
      page('grpc', 'packages/grpc'),
      page('rsocket', 'packages/rsocket'),
      page('transport', 'packages/transport')
    ]
  },
  {
    text: 'Examples',
    collapsed: true,
    items: [
      page('Small systems', 'examples/small'),
      page('A system of four services', 'examples/shop'),
      page('A live order board', 'examples/board'),
      page('A Nest application', 'examples/migrate-from-nest'),
      page('Dependency injection', 'examples/dependency-injection'),
      page('Durable events', 'examples/durable-events'),
      page('Benchmark', 'examples/bench')
    ]
  },
  {
    text: 'The project',
    collapsed: true,
    items: [
      page('Protocol', 'protocol'),
      page('Architecture', 'architecture'),
      page('Decisions', 'decisions'),
      page('Versions', 'versions'),
      page('Compatibility', 'compatibility'),
      page('Dependencies', 'dependencies'),
      page('Contributing', 'contributing'),
      page('How tests are run', 'running-tests'),
      page('Changelog', 'changelog'),
      page('Reporting a weakness', 'security-policy')
    ]
  }
]

/** All pages that the sidebar leads to. */
export function pagesOf(items: readonly DefaultTheme.SidebarItem[]): string[] {
  return items.flatMap(({ link, items: below = [] }) => [
    ...(link === undefined ? [] : [link]),
    ...pagesOf(below)
  ])
}
