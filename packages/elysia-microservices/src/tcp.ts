/**
 * `elysia-microservices/tcp`: the package `@elysia-microservices/tcp`, for users who have installed only
 * `elysia-microservices`.
 */
export * from '@elysia-microservices/tcp'
