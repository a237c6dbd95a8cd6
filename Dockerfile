# One image for every process of a live twin; docker-compose.yml says which command each container runs.
FROM python:3.11-slim

WORKDIR /opt/lightwave
COPY constraints.txt pyproject.toml README.md ./
COPY schemas schemas
COPY shared shared
COPY services services
COPY ops ops
COPY lightwave lightwave

# setuptools comes first: it builds the project, at its pinned version, without a second environment.
RUN pip install --no-cache-dir --root-user-action ignore --constraint constraints.txt setuptools \
    && pip install --no-cache-dir --root-user-action ignore --constraint constraints.txt \
        --no-build-isolation '.[live]'

# The gateway's copy of the log is kept in /data, a volume.
RUN useradd --uid 1000 --create-home lightwave && install --directory --owner lightwave /data
USER lightwave
WORKDIR /data
ENV LIGHTWAVE_DATA=/data PYTHONUNBUFFERED=1

CMD ["lightwave", "--help"]
