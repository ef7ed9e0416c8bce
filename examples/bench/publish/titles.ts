/** The names of the targets in the documentation. */
import { LABEL, type TargetName } from '../peers/targets.ts'

const TITLES: Partial<Readonly<Record<TargetName, string>>> = {
  elysia: 'ours',
  nest: 'Nest',
  'nest-strategy': 'Nest on our transport',
  raw: 'bare bytes',
  moleculer: 'Moleculer',
  grpc: 'grpc-js',
  'elysia-grpc': 'ours over gRPC',
  'nest-grpc': 'Nest over gRPC',
  connect: 'Connect',
  trpc: 'tRPC, WebSocket',
  'elysia-nats': 'ours over NATS',
  'nest-nats': 'Nest over NATS',
  nats: "NATS's driver",
  'elysia-mqtt': 'ours over MQTT',
  'nest-mqtt': 'Nest over MQTT',
  mqtt: "MQTT's driver",
  'elysia-kafka': 'ours over Kafka',
  'nest-kafka': 'Nest over Kafka',
  kafka: "Kafka's driver",
  'elysia-redis': 'ours over Redis',
  'nest-redis': 'Nest over Redis',
  redis: "Redis's driver",
  'elysia-rabbitmq': 'ours over RabbitMQ',
  'nest-rabbitmq': 'Nest over RabbitMQ',
  rabbitmq: "RabbitMQ's driver",
  'elysia-metrics': 'counted',
  'elysia-sampled': '1 % traced',
  'elysia-traced': 'all traced'
}

const LABELS: Readonly<Record<string, string>> = { node: 'on Node', "Nest's wire": "on Nest's wire" }

/** A title for a target: `elysia @ msgpack` → `ours, msgpack` */
export function titleOfTarget(name: string): string {
  const [target, label] = name.split(LABEL)
  const title = TITLES[target as TargetName] ?? target!
  return label === undefined ? title : `${title}, ${LABELS[label] ?? label}`
}
