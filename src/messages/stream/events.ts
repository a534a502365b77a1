export * from '../../reply.ts'
