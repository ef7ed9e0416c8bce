/** `elysia-microservices/tcp`: TCP as a value, for users who install this package alone. */
export * from '@elysia-microservices/tcp'
