# One image for every process of a live twin; docker-compose.yml says which command each container runs.
FROM python:3.11-slim

WORKDIR /opt/lightwave
COPY locks locks

# Only wheels whose hashes are locked. setuptools, which builds the project, is one of them.
RUN pip install --no-cache-dir --root-user-action ignore --require-hashes --only-binary :all: \
        -r locks/build.txt -r locks/run.txt -r locks/live.txt

COPY pyproject.toml README.md ./
COPY schemas schemas
COPY shared shared
COPY services services
COPY ops ops
COPY lightwave lightwave

RUN pip install --no-cache-dir --root-user-action ignore --no-index --no-deps --no-build-isolation .

# The gateway's copy of the log is kept in /data, a volume.
RUN useradd --uid 1000 --create-home lightwave && install --directory --owner lightwave /data
USER lightwave
WORKDIR /data
ENV LIGHTWAVE_DATA=/data PYTHONUNBUFFERED=1

CMD ["lightwave", "--help"]
