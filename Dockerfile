# syntax=docker/dockerfile:1

# Both planes as single files: nothing is installed in the image that runs.
FROM node:24-slim AS build
WORKDIR /app
ENV NPM_CONFIG_UPDATE_NOTIFIER=false
COPY package.json package-lock.json .npmrc ./
RUN npm install --ignore-scripts --no-audit
COPY tsconfig.json ./
COPY bundle bundle
COPY shared shared
COPY data-plane data-plane
COPY control-plane control-plane
COPY docs docs
COPY CHANGELOG.md ./
RUN node bundle/image.mjs

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8402 JOURNAL_DIR=/var/lib/market/journal SNAPSHOT_FILE=/var/lib/market/snapshot.json
RUN mkdir -p /var/lib/market/journal && chown -R node:node /var/lib/market && chmod -R 700 /var/lib/market
COPY --from=build /app/dist ./dist
# Programs say which version they are.
COPY --from=build /app/package.json ./
COPY migrations migrations
COPY docs docs
COPY CHANGELOG.md ./
USER node
VOLUME /var/lib/market
EXPOSE 8402
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
# Signals reach node itself, so that a stop drains.
ENTRYPOINT ["node", "--enable-source-maps"]
CMD ["--min-semi-space-size=64", "--max-semi-space-size=64", "--no-allocation-site-pretenuring", "dist/data-plane.mjs"]
