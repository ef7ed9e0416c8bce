/** Common terms for which the search should find a page, though the page does not use them or only mentions them. */
export const WORDS: Readonly<Record<string, readonly string[]>> = {
  deciding: [
    'comparison',
    'alternatives',
    'versus',
    'when not to use',
    'Temporal',
    'BullMQ',
    'Encore',
    'Connect',
    'Moleculer',
    'tRPC'
  ],
  tutorial: ['walkthrough', 'step by step', 'example app', 'quick start'],
  connections: [
    'load balancing',
    'load balancer',
    'round robin',
    'retry',
    'retries',
    'reconnect',
    'failover',
    'health check'
  ],
  deadlines: [
    'timeout',
    'timeouts',
    'circuit breaker',
    'bulkhead',
    'hedging',
    'timeout budget',
    'deadline propagation'
  ],
  recipes: [
    ...[
      'saga',
      'compensation',
      'compensating transaction',
      'rollback',
      'bearer token',
      'authorization header',
      'JWT'
    ],
    ...[
      'EventSource',
      'Kubernetes manifest',
      'Deployment',
      'PM2',
      'systemd',
      'clean up',
      'onStop',
      'monorepo'
    ]
  ],
  gateway: ['CORS', 'REST', 'API gateway', 'BFF', 'OpenAPI', 'Swagger', 'EventSource'],
  stopping: [
    'graceful shutdown',
    'lifecycle',
    'lifecycle hooks',
    'onStop',
    'rolling restart',
    'SIGTERM',
    'preStop'
  ],
  patterns: ['versioning', 'API versions', 'routing', 'topic', 'subject', 'wildcard'],
  types: ['versioning', 'contract', 'shared types', 'monorepo', 'cmd', 'object pattern'],
  services: ['lifecycle', 'dependency injection', 'module', 'plugin'],
  streams: ['backpressure', 'flow control', 'subscription', 'server push'],
  events: ['publish', 'subscribe', 'pub/sub', 'fire and forget', 'broadcast'],
  'durable-events': [
    'retry failed events',
    'queue',
    'job',
    'dead letter queue',
    'at least once',
    'redelivery',
    'exactly once'
  ],
  outbox: ['transactional outbox', 'exactly once', 'idempotency', 'deduplication', 'change data capture'],
  limits: ['rate limit', 'throttling', 'load shedding', 'overload', 'backpressure', 'concurrency limit'],
  errors: [
    'exception',
    'status code',
    'exception filter',
    'retryable',
    'dependency down',
    'service unavailable'
  ],
  hooks: ['middleware', 'interceptor', 'guard', 'pipe', 'filter'],
  schemas: ['validation', 'zod', 'valibot', 'TypeBox', 'DTO'],
  security: ['authentication', 'authorization', 'mTLS', 'certificate', 'bearer token', 'API key'],
  observability: ['monitoring', 'tracing', 'Prometheus', 'Grafana', 'liveness', 'readiness', 'probe'],
  scaling: ['service discovery', 'service mesh', 'sharding', 'subsetting'],
  processes: ['cluster', 'PM2', 'multi-core', 'workers'],
  faults: ['chaos engineering', 'fault injection'],
  websocket: ['browser client', 'WebSocket', 'server push', 'real time', 'isError', 'bundle of a page'],
  runtimes: ['bundle', 'bundling', 'esbuild', 'single executable', 'compile', 'webpack'],
  dev: ['dashboard', 'logs', 'Postgres password', 'DATABASE_URL', 'docker compose'],
  sqlite: ['SQLite', 'embedded', 'no broker', 'without a broker'],
  testing: ['mock', 'integration test', 'fake clock', 'Jest', 'vitest', 'test runner', 'factory'],
  production: ['deployment', 'go live', 'checklist'],
  nats: ['JetStream', 'message broker', 'queue group'],
  redis: ['message broker', 'pub/sub', 'Redis Streams']
}
