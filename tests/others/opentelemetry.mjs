export { opentelemetry } from '@elysiajs/opentelemetry'
